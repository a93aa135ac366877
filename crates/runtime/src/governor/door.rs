//! Where runs come to ask.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use host::{Clock, Home};
use model::Facts;
use protocol::At;
use tokio::sync::oneshot;

use super::day::{DayShare, NoShare};
use super::keeper::{Keeper, Note};
use super::lane::Waiter;
use super::permit::Permit;

/// How long the end of a session waits for its last words to be written.
const PARTING: Duration = Duration::from_secs(2);

/// Stands in front of every provider. Dropping it writes what was told.
#[derive(Debug)]
pub(crate) struct Governor {
    home: Home,
    clock: Arc<dyn Clock>,
    /// The thread, once there is one; none when it could not be started.
    keeper: OnceLock<Option<Thread>>,
}

/// A thread and the way to it.
#[derive(Debug)]
struct Thread {
    notes: Sender<Note>,
    handle: JoinHandle<()>,
}

/// What the governor says to somebody who wants to ask.
#[derive(Debug)]
pub(crate) enum Admission {
    /// Ask now, and say how it went.
    Go(Permit),
    /// A quota is used up until this moment.
    Park(At),
}

impl Governor {
    /// A governor that opens and starts nothing until it is needed.
    pub(crate) fn open(home: Home, clock: Arc<dyn Clock>) -> Governor {
        Governor { home, clock, keeper: OnceLock::new() }
    }

    /// Waits for the right to ask. Dropping the future gives the place in the line up.
    pub(crate) async fn admit(&self, facts: &Facts) -> Admission {
        let Some(key) = &facts.bucket else { return Admission::Go(Permit::free()) };
        let Some(notes) = self.keeper() else { return Admission::Go(Permit::free()) };
        let (reply, answer) = oneshot::channel();
        let waiter = Waiter { most: facts.at_once, reply };
        // A thread that is gone keeps nobody from working.
        let _gone = notes.send(Note::Ask { key: Arc::from(key.as_str()), waiter });
        answer.await.unwrap_or_else(|_gone| Admission::Go(Permit::free()))
    }

    /// A question's share of a day that nobody limits.
    pub(crate) fn unlimited_share(&self) -> DayShare {
        DayShare::unlimited(self.keeper())
    }

    /// Waits for a question's share of what may be spent in a day.
    pub(crate) async fn share_of_day(&self, micros: u64, limit: u64) -> Result<DayShare, NoShare> {
        DayShare::of(self.keeper(), micros, limit).await
    }

    fn keeper(&self) -> Option<&Sender<Note>> {
        let start = || {
            let (notes, inbox) = mpsc::channel();
            let keeper = Keeper::new(self.home.clone(), Arc::clone(&self.clock), notes.clone());
            let thread = thread::Builder::new().name("governor".into()).spawn(move || keeper.run(&inbox));
            if let Err(error) = &thread {
                tracing::warn!(%error, "requests are not governed, since no thread could be started");
            }
            thread.ok().map(|handle| Thread { notes, handle })
        };
        self.keeper.get_or_init(start).as_ref().map(|thread| &thread.notes)
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        let Some(Some(Thread { notes, handle })) = self.keeper.take() else { return };
        let (done, ended) = mpsc::channel();
        let in_time = notes.send(Note::End(done)).is_ok() && ended.recv_timeout(PARTING).is_ok();
        // A disk that hangs holds nobody up: the others drop from a bucket whoever is gone.
        if in_time {
            let _panicked = handle.join();
        }
    }
}
