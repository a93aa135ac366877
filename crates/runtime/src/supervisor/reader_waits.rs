//! The waits of readers. The supervisor looks at them after every commit, so that no reader polls and no change between
//! two looks is missed.

use kernel::{Kernel, ReaderWait};
use tokio::sync::oneshot;

use super::InputRejection;

/// A reader that waits.
#[derive(Debug)]
pub(super) struct OpenReaderWait {
    pub(super) wait: ReaderWait,
    pub(super) reply: oneshot::Sender<Result<(), InputRejection>>,
}

impl OpenReaderWait {
    /// Ends the wait without what it waits for.
    pub(super) fn reject(self, rejected: InputRejection) {
        // The reader may be gone.
        let _gone = self.reply.send(Err(rejected));
    }
}

/// The waits that are not over.
#[derive(Debug, Default)]
pub(super) struct ReaderWaits(Vec<OpenReaderWait>);

impl ReaderWaits {
    /// Adds a wait, or ends it if the state shows already what it waits for.
    pub(super) fn open(&mut self, wait: OpenReaderWait, durable: &Kernel) {
        self.0.extend(end_if_reached(wait, durable));
    }

    /// Ends every wait for something that the state shows, and drops those whose reader is gone.
    pub(super) fn end_reached(&mut self, durable: &Kernel) {
        self.0.retain(|open| !open.reply.is_closed());
        let is_open = |open: &OpenReaderWait| matches!(durable.is_wait_over(&open.wait), Ok(false));
        for over in self.0.extract_if(.., |open| !is_open(open)) {
            end_if_reached(over, durable);
        }
    }

    /// Ends every wait with this rejection.
    pub(super) fn reject_all(&mut self, rejected: &InputRejection) {
        self.0.drain(..).for_each(|open| open.reject(rejected.clone()));
    }
}

/// Ends a wait if it is over, and returns it otherwise.
fn end_if_reached(open: OpenReaderWait, durable: &Kernel) -> Option<OpenReaderWait> {
    let result = match durable.is_wait_over(&open.wait) {
        Ok(false) => return Some(open),
        Ok(true) => Ok(()),
        Err(refusal) => Err(refusal.into()),
    };
    // The reader may be gone.
    let _gone = open.reply.send(result);
    None
}

#[cfg(test)]
mod tests {
    use kernel::{KernelInput, SessionLimits, TaskSpawn};
    use protocol::{CancelBy, CancelMode, TaskId, TaskSpec, Timestamp};
    use tokio::sync::oneshot::error::TryRecvError;
    use uuid::Uuid;

    use super::*;

    fn id(n: u128) -> TaskId {
        TaskId::new(Uuid::from_u128(n))
    }

    /// A session with a root and a command below it.
    fn kernel() -> Kernel {
        let mut kernel = Kernel::new(SessionLimits::default());
        let config = serde_json::json!({ "cwd": "/w", "model": "m", "permission": "default", "version": "0" });
        let config = serde_json::from_value(config).unwrap();
        let open = KernelInput::Open { root: id(1), spec: TaskSpec::root("main"), definition: None, config };
        let spec = TaskSpec { parent: Some(id(1)), ..TaskSpec::shell("make") };
        let (prompt, by, until, definition) = ("make".to_owned(), None, None, None);
        let spawn = KernelInput::Spawn(TaskSpawn { id: id(2), spec, prompt, by, until, definition, redo_reason: None });
        for input in [open, spawn] {
            kernel.decide(Timestamp(0), input).unwrap();
        }
        kernel
    }

    fn open(
        waits: &mut ReaderWaits,
        wait: ReaderWait,
        kernel: &Kernel,
    ) -> oneshot::Receiver<Result<(), InputRejection>> {
        let (reply, receiver) = oneshot::channel();
        waits.open(OpenReaderWait { wait, reply }, kernel);
        receiver
    }

    #[test]
    fn a_wait_ends_with_the_change_it_waits_for_and_at_once_if_that_was_before() {
        let (mut kernel, mut waits) = (kernel(), ReaderWaits::default());
        let mut finished = open(&mut waits, ReaderWait::Finished(id(2)), &kernel);
        let mut all = open(&mut waits, ReaderWait::All(vec![id(2), id(1)]), &kernel);
        waits.end_reached(&kernel);
        assert!(matches!(finished.try_recv(), Err(TryRecvError::Empty)), "the command runs");
        let stop = KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::Abort };
        kernel.decide(Timestamp(1), stop).unwrap();
        waits.end_reached(&kernel);
        assert!(finished.try_recv().unwrap().is_ok());
        assert!(matches!(all.try_recv(), Err(TryRecvError::Empty)), "the root has mail about it");
        let mut late = open(&mut waits, ReaderWait::Finished(id(2)), &kernel);
        assert!(late.try_recv().unwrap().is_ok());
        let mut unknown = open(&mut waits, ReaderWait::Finished(id(9)), &kernel);
        assert!(matches!(unknown.try_recv(), Ok(Err(InputRejection::Refused(_)))));
        assert_eq!(waits.0.len(), 1);
    }

    #[test]
    fn waits_end_when_their_reader_is_gone_or_the_session_cannot_continue() {
        let (kernel, mut waits) = (kernel(), ReaderWaits::default());
        drop(open(&mut waits, ReaderWait::Finished(id(2)), &kernel));
        let mut open = open(&mut waits, ReaderWait::Finished(id(2)), &kernel);
        waits.end_reached(&kernel);
        assert_eq!(waits.0.len(), 1);
        waits.reject_all(&InputRejection::SessionEnded);
        assert!(matches!(open.try_recv(), Ok(Err(InputRejection::SessionEnded))));
    }
}
