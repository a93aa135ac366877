//! A request's share of the daily budget, which all processes with the same home share.

use std::sync::mpsc::Sender;
use std::time::Duration;

use kernel::bucket::PermitHolder;
use kernel::day::{self, Day, DayLedger};
use protocol::Timestamp;
use tokio::sync::oneshot;

use super::bucket_store::BucketBackend;
use super::process;
use super::worker::GovernorMessage;

/// How often to check whether other requests have settled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A message to the thread about the daily budget.
#[derive(Debug)]
pub(super) enum DayBudgetMessage {
    /// Reserves for a request, if the limit allows it.
    Reserve { micros: u64, limit: u64, reply: oneshot::Sender<Result<DayShareReply, String>> },
    /// A request is over.
    Settle { reserved: u64, used: u64 },
}

/// The ledger's reply to a reservation.
#[derive(Debug)]
pub(super) struct DayShareReply {
    share: day::DayReservation,
    /// The start of the next day.
    until: Timestamp,
}

/// Why a request has no share of the daily budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DayShareError {
    /// The daily budget is used up until this time.
    SpentUntil(Timestamp),
    /// The spending of the day is unknown, so the budget cannot be enforced.
    SpendingUnknown(String),
}

/// A request's share of the daily budget. Dropping it books the expected cost, if the request was sent.
#[derive(Debug)]
#[must_use = "the reservation is released when this is dropped"]
pub(crate) struct DayShare {
    worker: Option<Sender<GovernorMessage>>,
    limit: Option<u64>,
    /// The amount that the ledger has reserved.
    reserved: u64,
    /// The expected cost.
    expected: u64,
    was_asked: bool,
}

impl DayShare {
    /// The share of a model that costs nothing.
    pub(crate) fn free() -> DayShare {
        DayShare::unlimited(None)
    }

    /// A share without a limit, only counted.
    pub(super) fn unlimited(worker: Option<&Sender<GovernorMessage>>) -> DayShare {
        DayShare { worker: worker.cloned(), limit: None, reserved: 0, expected: 0, was_asked: false }
    }

    /// Waits for a share within the limit.
    pub(super) async fn reserve_within(
        worker: Option<&Sender<GovernorMessage>>,
        micros: u64,
        limit: u64,
    ) -> Result<DayShare, DayShareError> {
        let mut share = DayShare::unlimited(worker);
        share.limit = Some(limit);
        while !share.reserve(micros).await? {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(share)
    }

    /// Whether there is a daily limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Marks the request as sent, with its expected cost.
    pub(crate) fn mark_asked(&mut self, expected: u64) {
        self.was_asked = true;
        self.expected = expected.max(self.reserved);
    }

    /// Reserves more while an answer arrives; returns whether the limit allows it.
    pub(crate) async fn grow(&mut self, micros: u64) -> bool {
        self.expected = self.expected.saturating_add(micros);
        self.reserve(micros).await == Ok(true)
    }

    /// Books the cost of the request.
    pub(crate) fn settle(mut self, used: u64) {
        self.book(used);
    }

    /// Reserves an amount; returns false if other requests hold the rest of the budget.
    async fn reserve(&mut self, micros: u64) -> Result<bool, DayShareError> {
        let Some(limit) = self.limit else { return Ok(true) };
        let uncounted = || DayShareError::SpendingUnknown("the thread that counts the spending has ended".into());
        let (reply, answer) = oneshot::channel();
        let message = GovernorMessage::Day(DayBudgetMessage::Reserve { micros, limit, reply });
        self.worker.as_ref().and_then(|worker| worker.send(message).ok()).ok_or_else(uncounted)?;
        match answer.await.map_err(|_gone| uncounted())? {
            Ok(DayShareReply { share: day::DayReservation::Reserved, .. }) => {
                self.reserved = self.reserved.saturating_add(micros);
                Ok(true)
            }
            Ok(DayShareReply { share: day::DayReservation::Contended, .. }) => Ok(false),
            Ok(DayShareReply { share: day::DayReservation::Exhausted, until }) => Err(DayShareError::SpentUntil(until)),
            Err(why) => Err(DayShareError::SpendingUnknown(why)),
        }
    }

    fn book(&mut self, used: u64) {
        let reserved = std::mem::take(&mut self.reserved);
        if let Some(worker) = self.worker.take().filter(|_| reserved > 0 || used > 0) {
            // If the thread is gone, the next one books what was reserved.
            let _gone = worker.send(GovernorMessage::Day(DayBudgetMessage::Settle { reserved, used }));
        }
    }
}

impl Drop for DayShare {
    fn drop(&mut self) {
        self.book(if self.was_asked { self.expected } else { 0 });
    }
}

/// Handles a message. It looks for dead processes at the first reservation, and whenever the limit is reached.
pub(super) fn handle(
    message: DayBudgetMessage,
    backend: &mut BucketBackend,
    own: &PermitHolder,
    now: Timestamp,
    first: bool,
) {
    let today = Day::of(now);
    match message {
        DayBudgetMessage::Settle { reserved, used } => {
            let settled = backend.change_days(|ledger| ledger.settle(today, own, reserved, used));
            if let Err(error) = settled {
                tracing::warn!(error, "the cost of a request is not counted in the daily budget");
            }
        }
        DayBudgetMessage::Reserve { micros, limit, reply } => {
            let share = backend.change_days(|ledger| {
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
            // A caller that is gone by now must not keep a reservation.
            if let Err(Ok(DayShareReply { share: day::DayReservation::Reserved, .. })) = reply.send(answer) {
                handle(DayBudgetMessage::Settle { reserved: micros, used: 0 }, backend, own, now, first);
            }
        }
    }
}

fn forget_dead_holders(ledger: &mut DayLedger, own: &PermitHolder) {
    let gone = |holder: &&PermitHolder| *holder != own && !process::is_alive(holder);
    let dead: Vec<PermitHolder> = ledger.holders().filter(gone).cloned().collect();
    dead.iter().for_each(|holder| ledger.forget(holder));
}
