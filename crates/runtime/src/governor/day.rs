//! A question's share of what may be spent in a day, by everybody who uses the same home.

use std::sync::mpsc::Sender;
use std::time::Duration;

use kernel::bucket::Holder;
use kernel::day::{self, Day, DayLedger};
use protocol::At;
use tokio::sync::oneshot;

use super::keeper::Note;
use super::process;
use super::shelf::Shelf;

/// How often it is looked whether others have settled.
const LOOK: Duration = Duration::from_millis(250);

/// What the thread is told of the day's spending.
#[derive(Debug)]
pub(super) enum DayNote {
    /// Reserves for a question, if the limit allows it.
    Reserve { micros: u64, limit: u64, reply: oneshot::Sender<Result<Answer, String>> },
    /// A question is over.
    Settle { reserved: u64, used: u64 },
}

/// What the ledger says to a question.
#[derive(Debug)]
pub(super) struct Answer {
    share: day::Share,
    /// When the next day begins.
    until: At,
}

/// Why a question has no share of the day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoShare {
    /// The day's budget is used up until this moment.
    Until(At),
    /// What was spent cannot be known, so nobody can say that it is not too much.
    Uncounted(String),
}

/// What a question may cost of the day's budget. Dropping it books what it was expected to cost, if it was asked.
#[derive(Debug)]
#[must_use = "what is reserved is given back when this is dropped"]
pub(crate) struct DayShare {
    keeper: Option<Sender<Note>>,
    limit: Option<u64>,
    /// What the ledger has reserved for it.
    reserved: u64,
    /// What it is expected to cost.
    expected: u64,
    asked: bool,
}

impl DayShare {
    /// The share of a model that costs nothing.
    pub(crate) fn free() -> DayShare {
        DayShare::unlimited(None)
    }

    /// A share that is only counted.
    pub(super) fn unlimited(keeper: Option<&Sender<Note>>) -> DayShare {
        DayShare { keeper: keeper.cloned(), limit: None, reserved: 0, expected: 0, asked: false }
    }

    /// Waits for a share of what the limit allows.
    pub(super) async fn of(keeper: Option<&Sender<Note>>, micros: u64, limit: u64) -> Result<DayShare, NoShare> {
        let mut share = DayShare::unlimited(keeper);
        share.limit = Some(limit);
        while !share.reserve(micros).await? {
            tokio::time::sleep(LOOK).await;
        }
        Ok(share)
    }

    /// Whether anybody limits what a day may cost.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Says that the model is asked now, and what that is expected to cost.
    pub(crate) fn asked(&mut self, expected: u64) {
        self.asked = true;
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
    async fn reserve(&mut self, micros: u64) -> Result<bool, NoShare> {
        let Some(limit) = self.limit else { return Ok(true) };
        let uncounted = || NoShare::Uncounted("the thread that counts it is gone".into());
        let (reply, answer) = oneshot::channel();
        let note = Note::Day(DayNote::Reserve { micros, limit, reply });
        self.keeper.as_ref().and_then(|keeper| keeper.send(note).ok()).ok_or_else(uncounted)?;
        match answer.await.map_err(|_gone| uncounted())? {
            Ok(Answer { share: day::Share::Reserved, .. }) => {
                self.reserved = self.reserved.saturating_add(micros);
                Ok(true)
            }
            Ok(Answer { share: day::Share::Held, .. }) => Ok(false),
            Ok(Answer { share: day::Share::Spent, until }) => Err(NoShare::Until(until)),
            Err(why) => Err(NoShare::Uncounted(why)),
        }
    }

    fn book(&mut self, used: u64) {
        let reserved = std::mem::take(&mut self.reserved);
        if let Some(keeper) = self.keeper.take().filter(|_| reserved > 0 || used > 0) {
            // A keeper that is gone has nobody to tell; the next one books what was reserved.
            let _gone = keeper.send(Note::Day(DayNote::Settle { reserved, used }));
        }
    }
}

impl Drop for DayShare {
    fn drop(&mut self) {
        self.book(if self.asked { self.expected } else { 0 });
    }
}

/// Performs what the thread is told. Those who are gone are looked for at its first reservation, and whenever there is
/// no room.
pub(super) fn perform(note: DayNote, shelf: &mut Shelf, own: &Holder, now: At, first: bool) {
    let today = Day::of(now);
    match note {
        DayNote::Settle { reserved, used } => {
            let settled = shelf.change_days(|ledger| ledger.settle(today, own, reserved, used));
            if let Err(error) = settled {
                tracing::warn!(error, "what a question cost is not counted for the day");
            }
        }
        DayNote::Reserve { micros, limit, reply } => {
            let share = shelf.change_days(|ledger| {
                if first {
                    forget_the_dead(ledger, own);
                }
                match ledger.reserve(today, own, micros, limit) {
                    day::Share::Held => {
                        forget_the_dead(ledger, own);
                        ledger.reserve(today, own, micros, limit)
                    }
                    share => share,
                }
            });
            let answer = share.map(|share| Answer { share, until: today.end() });
            // Whoever is gone by now has reserved nothing.
            if let Err(Ok(Answer { share: day::Share::Reserved, .. })) = reply.send(answer) {
                perform(DayNote::Settle { reserved: micros, used: 0 }, shelf, own, now, first);
            }
        }
    }
}

fn forget_the_dead(ledger: &mut DayLedger, own: &Holder) {
    let gone = |holder: &&Holder| *holder != own && !process::is_alive(holder);
    let dead: Vec<Holder> = ledger.holders().filter(gone).cloned().collect();
    dead.iter().for_each(|holder| ledger.forget(holder));
}
