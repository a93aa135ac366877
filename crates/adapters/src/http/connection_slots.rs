//! Slots for connections. Those that have not sent the token yet have few slots and little time, and the oldest gives
//! way to the next: a client without the token cannot keep out one that has it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The connections of a server.
#[derive(Debug)]
pub(crate) struct ConnectionSlots {
    /// Connections that have not sent the token, oldest first.
    unauthenticated: Mutex<VecDeque<(u64, CancellationToken)>>,
    max_unauthenticated: usize,
    /// Permits for connections that have sent it.
    authenticated: Arc<Semaphore>,
}

impl ConnectionSlots {
    pub(crate) fn new(authenticated: usize, max_unauthenticated: usize) -> Arc<ConnectionSlots> {
        let authenticated = Arc::new(Semaphore::new(authenticated));
        Arc::new(ConnectionSlots {
            unauthenticated: Mutex::default(),
            max_unauthenticated: max_unauthenticated.max(1),
            authenticated,
        })
    }

    /// Adds a connection. If there are too many without the token, the oldest of them is closed.
    pub(crate) fn add(self: &Arc<Self>, number: u64) -> ConnectionSlot {
        let eviction = CancellationToken::new();
        let mut unauthenticated = self.lock_unauthenticated();
        if unauthenticated.len() >= self.max_unauthenticated
            && let Some((_, oldest)) = unauthenticated.pop_front()
        {
            oldest.cancel();
        }
        unauthenticated.push_back((number, eviction.clone()));
        drop(unauthenticated);
        ConnectionSlot { slots: Arc::clone(self), number, eviction, permit: OnceLock::new() }
    }

    fn remove_unauthenticated(&self, number: u64) {
        self.lock_unauthenticated().retain(|(other, _)| *other != number);
    }

    fn lock_unauthenticated(&self) -> MutexGuard<'_, VecDeque<(u64, CancellationToken)>> {
        self.unauthenticated.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's slot, released on drop.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    number: u64,
    eviction: CancellationToken,
    permit: OnceLock<OwnedSemaphorePermit>,
}

impl ConnectionSlot {
    /// Records that the connection has sent the token; returns whether there is a slot for it.
    pub(crate) fn admit(&self) -> bool {
        if self.is_admitted() {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.slots.authenticated).try_acquire_owned() else { return false };
        // Never set twice: a connection handles one request at a time.
        self.permit.set(permit).ok();
        self.slots.remove_unauthenticated(self.number);
        true
    }

    pub(crate) fn is_admitted(&self) -> bool {
        self.permit.get().is_some()
    }

    /// Waits until the connection must give way to another.
    pub(crate) async fn evicted(&self) {
        self.eviction.cancelled().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.remove_unauthenticated(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unauthenticated_connections_evict_only_each_other() {
        let slots = ConnectionSlots::new(2, 3);
        let first = slots.add(0);
        assert!(first.admit() && first.admit());
        let unauthenticated: Vec<ConnectionSlot> = (1..=10).map(|number| slots.add(number)).collect();
        let evicted: Vec<bool> = unauthenticated.iter().map(|slot| slot.eviction.is_cancelled()).collect();
        assert_eq!(evicted.iter().filter(|evicted| !**evicted).count(), 3, "{evicted:?}");
        assert!(!first.eviction.is_cancelled() && evicted[..7].iter().all(|evicted| *evicted));
        assert!(unauthenticated[9].admit() && !unauthenticated[8].admit(), "there is room for two");
        drop(first);
        assert!(unauthenticated[8].admit());
        drop(unauthenticated);
        assert!(slots.lock_unauthenticated().is_empty());
    }
}
