//! Reservations from the daily budget, which all processes with the same home share. Amounts are in millionths of a
//! dollar.

use std::sync::mpsc::Sender;
use std::time::Duration;

use kernel::bucket::PermitHolder;
use kernel::day::{self, Day, DayLedger};
use protocol::Timestamp;
use tokio::sync::oneshot;

use super::bucket_store::{BucketBackend, DayLedgerError};
use super::process;
use super::worker::GovernorMessage;

/// How often to check whether other requests have settled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A message to the thread about the daily budget.
#[derive(Debug)]
pub(super) enum DayBudgetMessage {
    /// Reserve an amount for a request, if the limit allows it.
    Reserve { micros: u64, limit: u64, reply: oneshot::Sender<Result<DayBudgetReply, DayLedgerError>> },
    /// Settle the reservation of a request that is over.
    Settle { reserved: u64, used: u64 },
}

/// The ledger's reply to a reservation.
#[derive(Debug)]
pub(super) struct DayBudgetReply {
    result: day::DayReservation,
    /// The start of the next day.
    next_day: Timestamp,
}

/// Why nothing can be reserved from the daily budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DayBudgetError {
    /// The daily budget is used up until this time.
    SpentUntil(Timestamp),
    /// The spending of the day is unknown, so the budget cannot be enforced.
    SpendingUnknown(String),
}

/// A request's reservation from the daily budget. Dropping it counts the expected cost as spent, if the request was
/// sent.
#[derive(Debug)]
#[must_use = "the reservation is released when this is dropped"]
pub(crate) struct DayBudgetReservation {
    worker: Option<Sender<GovernorMessage>>,
    limit: Option<u64>,
    /// The amount that the ledger has reserved.
    reserved: u64,
    /// The expected cost, which counts as spent if the real cost stays unknown.
    expected: u64,
    was_sent: bool,
}

impl DayBudgetReservation {
    /// A reservation without a limit: the cost is only counted.
    pub(super) fn unlimited(worker: Option<&Sender<GovernorMessage>>) -> DayBudgetReservation {
        DayBudgetReservation { worker: worker.cloned(), limit: None, reserved: 0, expected: 0, was_sent: false }
    }

    /// Reserves an amount within the limit; waits while other requests hold the rest.
    pub(super) async fn reserve_within(
        worker: Option<&Sender<GovernorMessage>>,
        micros: u64,
        limit: u64,
    ) -> Result<DayBudgetReservation, DayBudgetError> {
        let mut reservation = DayBudgetReservation::unlimited(worker);
        reservation.limit = Some(limit);
        while !reservation.reserve(micros).await? {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(reservation)
    }

    /// Marks the request as sent, with its expected cost.
    pub(crate) fn mark_sent(&mut self, expected: u64) {
        self.was_sent = true;
        self.expected = expected.max(self.reserved);
    }

    /// Reserves more while an answer arrives; returns whether the limit allows it.
    pub(crate) async fn raise(&mut self, micros: u64) -> bool {
        self.expected = self.expected.saturating_add(micros);
        self.reserve(micros).await == Ok(true)
    }

    /// Settles the reservation to the real cost of the request.
    pub(crate) fn settle(mut self, used: u64) {
        self.send_settlement(used);
    }

    /// Reserves an amount; returns false if other requests hold the rest of the budget.
    async fn reserve(&mut self, micros: u64) -> Result<bool, DayBudgetError> {
        let Some(limit) = self.limit else { return Ok(true) };
        let thread_ended = || DayBudgetError::SpendingUnknown("the thread that counts the spending has ended".into());
        let (reply, receiver) = oneshot::channel();
        let message = GovernorMessage::Day(DayBudgetMessage::Reserve { micros, limit, reply });
        self.worker.as_ref().and_then(|worker| worker.send(message).ok()).ok_or_else(thread_ended)?;
        match receiver.await.map_err(|_gone| thread_ended())? {
            Ok(DayBudgetReply { result: day::DayReservation::Reserved, .. }) => {
                self.reserved = self.reserved.saturating_add(micros);
                Ok(true)
            }
            Ok(DayBudgetReply { result: day::DayReservation::Contended, .. }) => Ok(false),
            Ok(DayBudgetReply { result: day::DayReservation::Exhausted, next_day: until }) => {
                Err(DayBudgetError::SpentUntil(until))
            }
            Err(error) => Err(DayBudgetError::SpendingUnknown(error.to_string())),
        }
    }

    fn send_settlement(&mut self, used: u64) {
        let reserved = std::mem::take(&mut self.reserved);
        if let Some(worker) = self.worker.take().filter(|_| reserved > 0 || used > 0) {
            // If the thread is gone, the next one counts the reserved amount as spent.
            let _gone = worker.send(GovernorMessage::Day(DayBudgetMessage::Settle { reserved, used }));
        }
    }
}

impl Drop for DayBudgetReservation {
    fn drop(&mut self) {
        self.send_settlement(if self.was_sent { self.expected } else { 0 });
    }
}

/// Handles a message. It looks for dead processes at the first reservation, and whenever the limit is reached.
pub(super) fn handle_day_message(
    message: DayBudgetMessage,
    backend: &mut BucketBackend,
    own: &PermitHolder,
    now: Timestamp,
    is_first: bool,
) {
    let today = Day::containing(now);
    match message {
        DayBudgetMessage::Settle { reserved, used } => {
            let settled = backend.change_days(|ledger| ledger.settle(today, own, reserved, used));
            if let Err(error) = settled {
                tracing::warn!(%error, "the cost of a request is not counted in the daily budget");
            }
        }
        DayBudgetMessage::Reserve { micros, limit, reply } => {
            let result = backend.change_days(|ledger| {
                if is_first {
                    forget_dead_holders(ledger, own);
                }
                match ledger.reserve(today, own, micros, limit) {
                    day::DayReservation::Contended => {
                        forget_dead_holders(ledger, own);
                        ledger.reserve(today, own, micros, limit)
                    }
                    result => result,
                }
            });
            let answer = result.map(|result| DayBudgetReply { result, next_day: today.end() });
            // A caller that is gone by now must not keep a reservation.
            if let Err(Ok(DayBudgetReply { result: day::DayReservation::Reserved, .. })) = reply.send(answer) {
                handle_day_message(DayBudgetMessage::Settle { reserved: micros, used: 0 }, backend, own, now, is_first);
            }
        }
    }
}

fn forget_dead_holders(ledger: &mut DayLedger, own: &PermitHolder) {
    let is_dead = |holder: &&PermitHolder| *holder != own && !process::is_alive(holder);
    let dead: Vec<PermitHolder> = ledger.holders().filter(is_dead).cloned().collect();
    dead.iter().for_each(|holder| ledger.forget(holder));
}
