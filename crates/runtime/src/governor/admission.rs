//! Where runs come to ask.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use host::{Clock, Home};
use model::ModelFacts;
use protocol::Timestamp;
use tokio::sync::oneshot;

use super::bucket_queue::Waiter;
use super::day_budget::{DayShare, DayShareError};
use super::permit::ModelPermit;
use super::worker::{GovernorMessage, GovernorWorker};

/// How long the end of a session waits for its last words to be written.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(2);

/// Stands in front of every provider. Dropping it writes what was told.
#[derive(Debug)]
pub(crate) struct Governor {
    home: Home,
    clock: Arc<dyn Clock>,
    /// The thread, once there is one; none when it could not be started.
    thread: OnceLock<Option<GovernorThread>>,
}

/// A thread and the way to it.
#[derive(Debug)]
struct GovernorThread {
    messages: Sender<GovernorMessage>,
    handle: JoinHandle<()>,
}

/// What the governor says to somebody who wants to ask.
#[derive(Debug)]
pub(crate) enum RequestAdmission {
    /// Ask now, and say how it went.
    Admitted(ModelPermit),
    /// A quota is used up until this moment.
    Park(Timestamp),
}

impl Governor {
    /// A governor that opens and starts nothing until it is needed.
    pub(crate) fn open(home: Home, clock: Arc<dyn Clock>) -> Governor {
        Governor { home, clock, thread: OnceLock::new() }
    }

    /// Waits for the right to ask. Dropping the future gives the place in the line up.
    pub(crate) async fn admit(&self, facts: &ModelFacts) -> RequestAdmission {
        let Some(key) = &facts.bucket else { return RequestAdmission::Admitted(ModelPermit::free()) };
        let Some(notes) = self.worker_sender() else { return RequestAdmission::Admitted(ModelPermit::free()) };
        let (reply, answer) = oneshot::channel();
        let waiter = Waiter { max_concurrent: facts.max_concurrent_requests, reply };
        // A thread that is gone keeps nobody from working.
        let _gone = notes.send(GovernorMessage::Request { key: Arc::from(key.as_str()), waiter });
        answer.await.unwrap_or_else(|_gone| RequestAdmission::Admitted(ModelPermit::free()))
    }

    /// A question's share of a day that nobody limits.
    pub(crate) fn unlimited_share(&self) -> DayShare {
        DayShare::unlimited(self.worker_sender())
    }

    /// Waits for a question's share of what may be spent in a day.
    pub(crate) async fn share_of_day(&self, micros: u64, limit: u64) -> Result<DayShare, DayShareError> {
        DayShare::reserve_within(self.worker_sender(), micros, limit).await
    }

    fn worker_sender(&self) -> Option<&Sender<GovernorMessage>> {
        let start = || {
            let (notes, inbox) = mpsc::channel();
            let keeper = GovernorWorker::new(self.home.clone(), Arc::clone(&self.clock), notes.clone());
            let thread = thread::Builder::new().name("governor".into()).spawn(move || keeper.run(&inbox));
            if let Err(error) = &thread {
                tracing::warn!(%error, "requests are not governed, since no thread could be started");
            }
            thread.ok().map(|handle| GovernorThread { messages: notes, handle })
        };
        self.thread.get_or_init(start).as_ref().map(|thread| &thread.messages)
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        let Some(Some(GovernorThread { messages: notes, handle })) = self.thread.take() else { return };
        let (done, ended) = mpsc::channel();
        let in_time = notes.send(GovernorMessage::End(done)).is_ok() && ended.recv_timeout(SHUTDOWN_WAIT).is_ok();
        // A disk that hangs holds nobody up: the others drop from a bucket whoever is gone.
        if in_time {
            let _panicked = handle.join();
        }
    }
}
