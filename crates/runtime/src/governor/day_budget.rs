//! A question's share of what may be spent in a day, by everybody who uses the same home.

use std::sync::mpsc::Sender;
use std::time::Duration;

use kernel::bucket::PermitHolder;
use kernel::day::{self, Day, DayLedger};
use protocol::Timestamp;
use tokio::sync::oneshot;

use super::bucket_store::BucketBackend;
use super::process;
use super::worker::GovernorMessage;

/// How often it is looked whether others have settled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// What the thread is told of the day's spending.
#[derive(Debug)]
pub(super) enum DayBudgetMessage {
    /// Reserves for a question, if the limit allows it.
    Reserve { micros: u64, limit: u64, reply: oneshot::Sender<Result<DayShareReply, String>> },
    /// A question is over.
    Settle { reserved: u64, used: u64 },
}

/// What the ledger says to a question.
#[derive(Debug)]
pub(super) struct DayShareReply {
    share: day::DayReservation,
    /// When the next day begins.
    until: Timestamp,
}

/// Why a question has no share of the day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DayShareError {
    /// The day's budget is used up until this moment.
    SpentUntil(Timestamp),
    /// What was spent cannot be known, so nobody can say that it is not too much.
    Uncounted(String),
}

/// What a question may cost of the day's budget. Dropping it books what it was expected to cost, if it was asked.
#[derive(Debug)]
#[must_use = "what is reserved is given back when this is dropped"]
pub(crate) struct DayShare {
    worker: Option<Sender<GovernorMessage>>,
    limit: Option<u64>,
    /// What the ledger has reserved for it.
    reserved: u64,
    /// What it is expected to cost.
    expected: u64,
    was_asked: bool,
}

impl DayShare {
    /// The share of a model that costs nothing.
    pub(crate) fn free() -> DayShare {
        DayShare::unlimited(None)
    }

    /// A share that is only counted.
    pub(super) fn unlimited(keeper: Option<&Sender<GovernorMessage>>) -> DayShare {
        DayShare { worker: keeper.cloned(), limit: None, reserved: 0, expected: 0, was_asked: false }
    }

    /// Waits for a share of what the limit allows.
    pub(super) async fn reserve_within(
        keeper: Option<&Sender<GovernorMessage>>,
        micros: u64,
        limit: u64,
    ) -> Result<DayShare, DayShareError> {
        let mut share = DayShare::unlimited(keeper);
        share.limit = Some(limit);
        while !share.reserve(micros).await? {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(share)
    }

    /// Whether anybody limits what a day may cost.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Says that the model is asked now, and what that is expected to cost.
    pub(crate) fn mark_asked(&mut self, expected: u64) {
        self.was_asked = true;
        self.expected = expected.max(self.reserved);
    }

    /// Reserves more while an answer arrives; tells whether there was more.
    pub(crate) async fn grow(&mut self, micros: u64) -> bool {
        self.expected = self.expected.saturating_add(micros);
        self.reserve(micros).await == Ok(true)
    }

    /// Books what the question cost.
    pub(crate) fn settle(mut self, used: u64) {
        self.book(used);
    }

    /// Reserves so much; tells whether it is, or others hold it.
    async fn reserve(&mut self, micros: u64) -> Result<bool, DayShareError> {
        let Some(limit) = self.limit else { return Ok(true) };
        let uncounted = || DayShareError::Uncounted("the thread that counts it is gone".into());
        let (reply, answer) = oneshot::channel();
        let note = GovernorMessage::Day(DayBudgetMessage::Reserve { micros, limit, reply });
        self.worker.as_ref().and_then(|keeper| keeper.send(note).ok()).ok_or_else(uncounted)?;
        match answer.await.map_err(|_gone| uncounted())? {
            Ok(DayShareReply { share: day::DayReservation::Reserved, .. }) => {
                self.reserved = self.reserved.saturating_add(micros);
                Ok(true)
            }
            Ok(DayShareReply { share: day::DayReservation::Contended, .. }) => Ok(false),
            Ok(DayShareReply { share: day::DayReservation::Exhausted, until }) => Err(DayShareError::SpentUntil(until)),
            Err(why) => Err(DayShareError::Uncounted(why)),
        }
    }

    fn book(&mut self, used: u64) {
        let reserved = std::mem::take(&mut self.reserved);
        if let Some(keeper) = self.worker.take().filter(|_| reserved > 0 || used > 0) {
            // A keeper that is gone has nobody to tell; the next one books what was reserved.
            let _gone = keeper.send(GovernorMessage::Day(DayBudgetMessage::Settle { reserved, used }));
        }
    }
}

impl Drop for DayShare {
    fn drop(&mut self) {
        self.book(if self.was_asked { self.expected } else { 0 });
    }
}

/// Performs what the thread is told. Those who are gone are looked for at its first reservation, and whenever there is
/// no room.
pub(super) fn handle(
    note: DayBudgetMessage,
    shelf: &mut BucketBackend,
    own: &PermitHolder,
    now: Timestamp,
    first: bool,
) {
    let today = Day::of(now);
    match note {
        DayBudgetMessage::Settle { reserved, used } => {
            let settled = shelf.change_days(|ledger| ledger.settle(today, own, reserved, used));
            if let Err(error) = settled {
                tracing::warn!(error, "what a question cost is not counted for the day");
            }
        }
        DayBudgetMessage::Reserve { micros, limit, reply } => {
            let share = shelf.change_days(|ledger| {
                if first {
                    forget_dead_holders(ledger, own);
                }
                match ledger.reserve(today, own, micros, limit) {
                    day::DayReservation::Contended => {
                        forget_dead_holders(ledger, own);
                        ledger.reserve(today, own, micros, limit)
                    }
                    share => share,
                }
            });
            let answer = share.map(|share| DayShareReply { share, until: today.end() });
            // Whoever is gone by now has reserved nothing.
            if let Err(Ok(DayShareReply { share: day::DayReservation::Reserved, .. })) = reply.send(answer) {
                handle(DayBudgetMessage::Settle { reserved: micros, used: 0 }, shelf, own, now, first);
            }
        }
    }
}

fn forget_dead_holders(ledger: &mut DayLedger, own: &PermitHolder) {
    let gone = |holder: &&PermitHolder| *holder != own && !process::is_alive(holder);
    let dead: Vec<PermitHolder> = ledger.holders().filter(gone).cloned().collect();
    dead.iter().for_each(|holder| ledger.forget(holder));
}
