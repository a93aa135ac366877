//! Connections that have not shown the token yet. They have few places and little time, and make room for those who come
//! after them: nobody without the token can keep out whoever holds it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The connections of a server.
#[derive(Debug)]
pub(super) struct Places {
    /// Those that have not shown the token, oldest first.
    strangers: Mutex<VecDeque<(u64, CancellationToken)>>,
    most_strangers: usize,
    /// Room for those that have.
    members: Arc<Semaphore>,
}

impl Places {
    pub(super) fn new(members: usize, most_strangers: usize) -> Arc<Places> {
        let members = Arc::new(Semaphore::new(members));
        Arc::new(Places { strangers: Mutex::default(), most_strangers: most_strangers.max(1), members })
    }

    /// Takes in a connection. If there are too many without the token, the oldest of them is sent away.
    pub(super) fn enter(self: &Arc<Self>, number: u64) -> Place {
        let sent_away = CancellationToken::new();
        let mut strangers = self.strangers();
        if strangers.len() >= self.most_strangers
            && let Some((_, oldest)) = strangers.pop_front()
        {
            oldest.cancel();
        }
        strangers.push_back((number, sent_away.clone()));
        drop(strangers);
        Place { places: Arc::clone(self), number, sent_away, membership: OnceLock::new() }
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
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    sent_away: CancellationToken,
    membership: OnceLock<OwnedSemaphorePermit>,
}

impl Place {
    /// The connection has shown the token; says whether there is room for it.
    pub(super) fn admit(&self) -> bool {
        if self.is_admitted() {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.places.members).try_acquire_owned() else { return false };
        // One request is answered at a time.
        self.membership.set(permit).ok();
        self.places.leave(self.number);
        true
    }

    pub(super) fn is_admitted(&self) -> bool {
        self.membership.get().is_some()
    }

    /// Ends when the connection must make room for another.
    pub(super) async fn sent_away(&self) {
        self.sent_away.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_make_room_for_each_other_and_never_take_that_of_members() {
        let places = Places::new(2, 3);
        let first = places.enter(0);
        assert!(first.admit() && first.admit());
        let strangers: Vec<Place> = (1..=10).map(|number| places.enter(number)).collect();
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
