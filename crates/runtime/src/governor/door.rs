//! Where runs come to ask.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use host::{Clock, Home};
use model::Facts;
use protocol::At;
use tokio::sync::oneshot;

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
    /// The way to the thread, once there is one; none when it could not be started.
    keeper: OnceLock<Option<Sender<Note>>>,
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
        let Some(keeper) = self.keeper() else { return Admission::Go(Permit::free()) };
        let (reply, answer) = oneshot::channel();
        let waiter = Waiter { most: facts.at_once, reply };
        // A thread that is gone keeps nobody from working.
        let _gone = keeper.send(Note::Ask { key: Arc::from(key.as_str()), waiter });
        answer.await.unwrap_or_else(|_gone| Admission::Go(Permit::free()))
    }

    fn keeper(&self) -> Option<&Sender<Note>> {
        let start = || {
            let (sender, notes) = mpsc::channel();
            let keeper = Keeper::new(self.home.clone(), Arc::clone(&self.clock), sender.clone());
            let thread = thread::Builder::new().name("governor".into()).spawn(move || keeper.run(&notes));
            if let Err(error) = &thread {
                tracing::warn!(%error, "requests are not governed, since no thread could be started");
            }
            thread.ok().map(|_ends_by_itself| sender)
        };
        self.keeper.get_or_init(start).as_ref()
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        let Some(Some(keeper)) = self.keeper.get() else { return };
        let (done, ended) = mpsc::channel();
        if keeper.send(Note::End(done)).is_ok() {
            // Whether it was in time or not, a process that is gone is dropped from the bucket by the others.
            let _ended = ended.recv_timeout(PARTING);
        }
    }
}
