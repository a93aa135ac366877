//! The interface of the governor for runs.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use host::{Clock, Home};
use protocol::Timestamp;
use tokio::sync::oneshot;

use super::bucket_queue::Waiter;
use super::day_budget::{DayBudgetError, DayBudgetReservation};
use super::gate::RequestGate;
use super::permit::ModelPermit;
use super::worker::{GovernorMessage, GovernorWorker};

/// How long the end of a session waits for its last messages to be written.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(2);

/// The gate in front of every provider. Dropping it writes all pending messages.
#[derive(Debug)]
pub(crate) struct Governor {
    home: Home,
    clock: Arc<dyn Clock>,
    gate: RequestGate,
    /// The thread, once it is needed; `None` if it could not be started.
    thread: OnceLock<Option<GovernorThread>>,
}

/// The thread and the sender to it.
#[derive(Debug)]
struct GovernorThread {
    messages: Sender<GovernorMessage>,
    handle: JoinHandle<()>,
}

/// The governor's reply to a run that wants to send a request.
#[derive(Debug)]
pub(crate) enum RequestAdmission {
    /// Send the request now, and report its outcome.
    Admitted(ModelPermit),
    /// A quota is used up until this time.
    Park(Timestamp),
}

impl Governor {
    /// A governor that opens and starts nothing until it is needed.
    pub(crate) fn open(home: Home, clock: Arc<dyn Clock>) -> Governor {
        Governor { home, clock, gate: RequestGate::new(), thread: OnceLock::new() }
    }

    /// Admits no more requests, and waits until every one that was admitted is over.
    pub(crate) async fn close(&self) {
        self.gate.close().await;
    }

    /// Waits for a permit. Dropping the future leaves the queue.
    pub(crate) async fn admit(&self, bucket: Option<&str>, max_concurrent: Option<u32>) -> RequestAdmission {
        match self.await_permit(bucket, max_concurrent).await {
            RequestAdmission::Admitted(permit) => RequestAdmission::Admitted(permit.passing(self.gate.pass().await)),
            park @ RequestAdmission::Park(_) => park,
        }
    }

    async fn await_permit(&self, bucket: Option<&str>, max_concurrent: Option<u32>) -> RequestAdmission {
        let Some(bucket) = bucket else { return RequestAdmission::Admitted(ModelPermit::ungoverned()) };
        let Some(messages) = self.worker_sender() else { return RequestAdmission::Admitted(ModelPermit::ungoverned()) };
        let (reply, receiver) = oneshot::channel();
        let waiter = Waiter { max_concurrent, reply };
        // If the thread is gone, requests are not governed.
        let _gone = messages.send(GovernorMessage::Request { key: Arc::from(bucket), waiter });
        receiver.await.unwrap_or_else(|_gone| RequestAdmission::Admitted(ModelPermit::ungoverned()))
    }

    /// A reservation for a request without a daily limit: its cost is only counted.
    pub(crate) fn unlimited_day_reservation(&self) -> DayBudgetReservation {
        DayBudgetReservation::unlimited(self.worker_sender())
    }

    /// Reserves an amount from the daily budget for a request; waits while other requests hold the rest.
    pub(crate) async fn reserve_day(&self, micros: u64, limit: u64) -> Result<DayBudgetReservation, DayBudgetError> {
        DayBudgetReservation::reserve_within(self.worker_sender(), micros, limit).await
    }

    fn worker_sender(&self) -> Option<&Sender<GovernorMessage>> {
        let start = || {
            let (messages, inbox) = mpsc::channel();
            let worker = GovernorWorker::new(self.home.clone(), Arc::clone(&self.clock), messages.clone());
            let thread = thread::Builder::new().name("governor".into()).spawn(move || worker.run(&inbox));
            if let Err(error) = &thread {
                tracing::warn!(%error, "requests are not governed because the thread could not be started");
            }
            thread.ok().map(|handle| GovernorThread { messages, handle })
        };
        self.thread.get_or_init(start).as_ref().map(|thread| &thread.messages)
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        let Some(Some(GovernorThread { messages, handle })) = self.thread.take() else { return };
        let (done, ended) = mpsc::channel();
        let in_time = messages.send(GovernorMessage::End(done)).is_ok() && ended.recv_timeout(SHUTDOWN_WAIT).is_ok();
        // Do not wait for a disk that hangs: other processes remove dead holders from the buckets.
        if in_time {
            let _panicked = handle.join();
        }
    }
}
