//! Connections that have not shown the token yet. They have few places and little time, and make room for those who come
//! after them: nobody without the token can keep out whoever holds it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The connections of a server.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    /// Those that have not shown the token, oldest first.
    strangers: Mutex<VecDeque<(u64, CancellationToken)>>,
    max_unauthenticated: usize,
    /// Room for those that have.
    authenticated: Arc<Semaphore>,
}

impl ConnectionSlots {
    pub(super) fn new(members: usize, most_strangers: usize) -> Arc<ConnectionSlots> {
        let members = Arc::new(Semaphore::new(members));
        Arc::new(ConnectionSlots {
            strangers: Mutex::default(),
            max_unauthenticated: most_strangers.max(1),
            authenticated: members,
        })
    }

    /// Takes in a connection. If there are too many without the token, the oldest of them is sent away.
    pub(super) fn enter(self: &Arc<Self>, number: u64) -> ConnectionSlot {
        let sent_away = CancellationToken::new();
        let mut strangers = self.strangers();
        if strangers.len() >= self.max_unauthenticated
            && let Some((_, oldest)) = strangers.pop_front()
        {
            oldest.cancel();
        }
        strangers.push_back((number, sent_away.clone()));
        drop(strangers);
        ConnectionSlot { slots: Arc::clone(self), number, sent_away, permit: OnceLock::new() }
    }

    fn leave(&self, number: u64) {
        self.strangers().retain(|(other, _)| *other != number);
    }

    fn strangers(&self) -> MutexGuard<'_, VecDeque<(u64, CancellationToken)>> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's place; dropping it gives the place back.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    number: u64,
    sent_away: CancellationToken,
    permit: OnceLock<OwnedSemaphorePermit>,
}

impl ConnectionSlot {
    /// The connection has shown the token; says whether there is room for it.
    pub(super) fn admit(&self) -> bool {
        if self.is_admitted() {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.slots.authenticated).try_acquire_owned() else { return false };
        // One request is answered at a time.
        self.permit.set(permit).ok();
        self.slots.leave(self.number);
        true
    }

    pub(super) fn is_admitted(&self) -> bool {
        self.permit.get().is_some()
    }

    /// Ends when the connection must make room for another.
    pub(super) async fn sent_away(&self) {
        self.sent_away.cancelled().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_make_room_for_each_other_and_never_take_that_of_members() {
        let places = ConnectionSlots::new(2, 3);
        let first = places.enter(0);
        assert!(first.admit() && first.admit());
        let strangers: Vec<ConnectionSlot> = (1..=10).map(|number| places.enter(number)).collect();
        let away: Vec<bool> = strangers.iter().map(|place| place.sent_away.is_cancelled()).collect();
        assert_eq!(away.iter().filter(|away| !**away).count(), 3, "{away:?}");
        assert!(!first.sent_away.is_cancelled() && away[..7].iter().all(|away| *away));
        assert!(strangers[9].admit() && !strangers[8].admit(), "there is room for two");
        drop(first);
        assert!(strangers[8].admit());
        drop(strangers);
        assert!(places.strangers().is_empty());
    }
}
