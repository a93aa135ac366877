//! Slash commands that wait until the session is idle, and the clients that may run them in place of Bosun.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::{Ids, TimeIds};

use super::pending_answers::PendingAnswers;

/// The event that tells clients that a queued command's turn has come.
pub(crate) const QUEUED_EVENT: &str = "command.queued";

/// Maximum number of events that the clients of one session may be interested in.
const MAX_INTERESTS: usize = 64;

/// Maximum number of commands that wait.
const MAX_WAITING: usize = 256;

/// The slash commands of one session that wait, oldest first.
#[derive(Debug, Default)]
pub(crate) struct CommandQueue {
    waiting: Mutex<VecDeque<QueuedCommand>>,
    /// Commands whose turn has come, and that a client may run itself.
    pub(crate) offers: PendingAnswers,
    /// The events that clients act on, by the handles of their registrations.
    interests: Mutex<HashMap<String, EventInterest>>,
    /// Held by the command that runs.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

/// A command that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueuedCommand {
    pub(crate) id: String,
    pub(crate) text: String,
}

/// An event that a client acts on.
#[derive(Debug)]
struct EventInterest {
    event: String,
    /// The client's connection.
    connection: String,
}

impl CommandQueue {
    /// Adds a command at the end; returns whether there was room.
    pub(crate) fn push(&self, text: String) -> bool {
        let mut waiting = lock(&self.waiting);
        let has_room = waiting.len() < MAX_WAITING;
        if has_room {
            waiting.push_back(QueuedCommand { id: TimeIds.uuid().to_string(), text });
        }
        has_room
    }

    /// Takes the oldest command.
    pub(crate) fn take_first(&self) -> Option<QueuedCommand> {
        lock(&self.waiting).pop_front()
    }

    /// Removes the newest command; returns whether there was one.
    pub(crate) fn remove_last(&self) -> bool {
        lock(&self.waiting).pop_back().is_some()
    }

    /// Removes all commands.
    pub(crate) fn clear(&self) {
        lock(&self.waiting).clear();
    }

    /// The commands that wait, oldest first.
    pub(crate) fn waiting(&self) -> Vec<QueuedCommand> {
        lock(&self.waiting).iter().cloned().collect()
    }

    /// Registers that a client acts on an event; returns a handle, or none if there are too many.
    pub(crate) fn add_interest(&self, event: &str, connection: String) -> Option<String> {
        let mut interests = lock(&self.interests);
        (interests.len() < MAX_INTERESTS).then(|| {
            let handle = TimeIds.uuid().to_string();
            interests.insert(handle.clone(), EventInterest { event: event.to_owned(), connection });
            handle
        })
    }

    /// Ends an interest; returns its event, or none if it was not registered.
    pub(crate) fn remove_interest(&self, handle: &str) -> Option<String> {
        let removed = lock(&self.interests).remove(handle);
        self.abandon_unwanted_offers();
        removed.map(|interest| interest.event)
    }

    /// Ends the interests of a client that leaves; returns their events.
    pub(crate) fn client_left(&self, connection: &str) -> Vec<String> {
        let is_of_client = |_handle: &String, interest: &mut EventInterest| interest.connection == connection;
        let ended = lock(&self.interests).extract_if(is_of_client).map(|(_, interest)| interest.event).collect();
        self.abandon_unwanted_offers();
        ended
    }

    /// Whether a client may run queued commands itself.
    pub(crate) fn has_runner(&self) -> bool {
        lock(&self.interests).values().any(|interest| interest.event == QUEUED_EVENT)
    }

    fn abandon_unwanted_offers(&self) {
        if !self.has_runner() {
            self.offers.abandon_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_wait_in_order_and_can_be_removed() {
        let queue = CommandQueue::default();
        for text in ["/a", "/b", "/c"] {
            assert!(queue.push(text.into()));
        }
        assert!(queue.remove_last());
        assert_eq!(queue.take_first().unwrap().text, "/a");
        assert_eq!(queue.waiting().into_iter().map(|command| command.text).collect::<Vec<_>>(), ["/b"]);
        queue.clear();
        assert!(!queue.remove_last() && queue.take_first().is_none());
        for _ in 0..MAX_WAITING {
            assert!(queue.push("/a".into()));
        }
        assert!(!queue.push("/too-many".into()));
    }

    #[tokio::test]
    async fn offers_end_when_no_client_is_left_to_answer_them() {
        let queue = CommandQueue::default();
        queue.add_interest("session.idle", "one".into()).unwrap();
        assert!(!queue.has_runner());
        let handle = queue.add_interest(QUEUED_EVENT, "one".into()).unwrap();
        queue.add_interest(QUEUED_EVENT, "two".into()).unwrap();
        let offer = queue.offers.register();
        assert!(queue.remove_interest(&handle).is_some() && queue.remove_interest(&handle).is_none());
        assert!(queue.has_runner(), "the other client still answers");
        assert_eq!(queue.client_left("two"), [QUEUED_EVENT]);
        assert!(queue.client_left("two").is_empty());
        assert!(!queue.has_runner());
        assert_eq!(offer.wait().await, None);
    }
}
