//! One session's events for all its watchers: each is made a piece of a stream once, and pieces that come close together
//! are one batch that every watcher shares. What a watcher costs does not depend on how much happens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use protocol::SessionId;
use protocol::api::{Method, SubscribeParams};
use rpc::{Notifications, RpcClient, RpcNotification};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::events::sse_event;

/// How many batches a watcher may be behind before it goes back to the file.
const BACKLOG: usize = 128;

/// Most bytes of a batch.
const BATCH: usize = 256 * 1024;

/// The least time between two batches: what happens alone is told at once, what happens in a row is told together.
const PAUSE: Duration = Duration::from_millis(PAUSE_MS);
const PAUSE_MS: u64 = 50;

/// Pieces of a stream that every watcher shares.
#[derive(Debug)]
pub(super) struct EventBatch {
    pieces: Vec<EventChunk>,
    whole: Bytes,
}

#[derive(Debug)]
struct EventChunk {
    /// The event's number, if it is one.
    seq: Option<u64>,
    bytes: Bytes,
}

impl EventBatch {
    /// The events that are in it, from the first to the last.
    pub(super) fn events(&self) -> Option<(u64, u64)> {
        let mut events = self.pieces.iter().filter_map(|piece| piece.seq);
        let first = events.next()?;
        Some((first, events.last().unwrap_or(first)))
    }

    /// What is new in it to a watcher that has seen events up to a number.
    pub(super) fn after(&self, seen: u64) -> Bytes {
        let is_new = |piece: &&EventChunk| piece.seq.is_none_or(|seq| seq > seen);
        if self.pieces.iter().all(|piece| is_new(&piece)) {
            return self.whole.clone();
        }
        let mut bytes = BytesMut::new();
        self.pieces.iter().filter(is_new).for_each(|piece| bytes.extend_from_slice(&piece.bytes));
        bytes.freeze()
    }
}

/// One session's events for all its watchers, as long as one of them is there.
#[derive(Debug)]
pub(super) struct EventRelay {
    /// Only the work itself keeps the channel open: watchers are told when it ends.
    batches: broadcast::WeakSender<Arc<EventBatch>>,
    /// The session's state as it was told last.
    status: Arc<Mutex<Option<Bytes>>>,
    _work: JoinSet<()>,
}

impl EventRelay {
    /// Relays what a connection to a session tells of events after a number.
    pub(super) fn new(client: RpcClient, notifications: Notifications, after: u64) -> EventRelay {
        let batches = broadcast::Sender::new(BACKLOG);
        let status = Arc::default();
        let mut work = JoinSet::new();
        let weak = batches.downgrade();
        let relaying = RelayTask { batches, status: Arc::clone(&status) };
        work.spawn(relaying.run(client, notifications, after));
        EventRelay { batches: weak, status, _work: work }
    }

    /// What happens from here on; nothing if the session's owner is gone.
    pub(super) fn subscribe(&self) -> Option<broadcast::Receiver<Arc<EventBatch>>> {
        Some(self.batches.upgrade()?.subscribe())
    }

    /// The session's state as it was told last.
    pub(super) fn status(&self) -> Option<Bytes> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The relays of the sessions that are watched.
#[derive(Debug, Default)]
pub(super) struct EventRelays(Mutex<HashMap<SessionId, Weak<EventRelay>>>);

impl EventRelays {
    /// The relay of a session that somebody watches already.
    pub(super) fn find(&self, id: SessionId) -> Option<Arc<EventRelay>> {
        let relays = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        relays.get(&id).and_then(Weak::upgrade).filter(|relay| relay.batches.upgrade().is_some())
    }

    /// Keeps a relay for those who come later.
    pub(super) fn insert(&self, id: SessionId, relay: &Arc<EventRelay>) {
        let mut relays = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        relays.retain(|_, relay| relay.strong_count() > 0);
        relays.insert(id, Arc::downgrade(relay));
    }
}

struct RelayTask {
    batches: broadcast::Sender<Arc<EventBatch>>,
    status: Arc<Mutex<Option<Bytes>>>,
}

impl RelayTask {
    async fn run(self, client: RpcClient, mut notifications: Notifications, after: u64) {
        let subscribe = client.call::<Value>(Method::EventsSubscribe, SubscribeParams { after, pause_ms: PAUSE_MS });
        let relay = async {
            let mut told = Instant::now().checked_sub(PAUSE);
            while let Ok(first) = notifications.next().await {
                let mut pieces = Vec::from_iter(self.read(&first));
                let mut size: usize = pieces.iter().map(|piece| piece.bytes.len()).sum();
                let until = told.map(|told| told + PAUSE);
                while size < BATCH {
                    let Some(next) = next_before(&mut notifications, until).await else { break };
                    let piece = self.read(&next);
                    size += piece.as_ref().map_or(0, |piece| piece.bytes.len());
                    pieces.extend(piece);
                }
                self.publish(pieces);
                told = Some(Instant::now());
            }
        };
        tokio::select! {
            // The answer may come after the first events.
            () = async { match subscribe.await {
                Ok(_subscribed) => std::future::pending().await,
                Err(error) => tracing::warn!(%error, "a session cannot be watched"),
            } } => {}
            () = relay => {}
        }
    }

    fn read(&self, told: &RpcNotification) -> Option<EventChunk> {
        let seq = match told.method.as_str() {
            "event" => Some(told.params["seq"].as_u64()?),
            "text" | "status" => None,
            _newer => return None,
        };
        let bytes = Bytes::from(sse_event(&told.method, seq, &told.params));
        if told.method == "status" {
            *self.status.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes.clone());
        }
        Some(EventChunk { seq, bytes })
    }

    fn publish(&self, pieces: Vec<EventChunk>) {
        if pieces.is_empty() {
            return;
        }
        let mut whole = BytesMut::new();
        pieces.iter().for_each(|piece| whole.extend_from_slice(&piece.bytes));
        // Those who watch may all have left.
        let _watchers = self.batches.send(Arc::new(EventBatch { pieces, whole: whole.freeze() }));
    }
}

/// The next of what is told, if it comes before a time, or is there already.
async fn next_before(notifications: &mut Notifications, until: Option<Instant>) -> Option<RpcNotification> {
    let next = notifications.next();
    match until {
        Some(until) => tokio::time::timeout_at(until, next).await.ok()?.ok(),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(pieces: &[(Option<u64>, &'static str)]) -> EventBatch {
        let made = |(seq, text): &(Option<u64>, &'static str)| EventChunk {
            seq: *seq,
            bytes: Bytes::from_static(text.as_bytes()),
        };
        let whole: String = pieces.iter().map(|(_, text)| *text).collect();
        EventBatch { pieces: pieces.iter().map(made).collect(), whole: whole.into() }
    }

    #[test]
    fn a_watcher_gets_what_is_new_to_it_and_shares_the_rest() {
        let mixed = batch(&[(Some(5), "a"), (None, "t"), (Some(6), "b"), (None, "s")]);
        assert_eq!(mixed.events(), Some((5, 6)));
        for (seen, told) in [(0, "atbs"), (4, "atbs"), (5, "tbs"), (6, "ts"), (9, "ts")] {
            assert_eq!(mixed.after(seen), told.as_bytes(), "{seen}");
        }
        assert_eq!(mixed.after(4).as_ptr(), mixed.whole.as_ptr(), "it is not copied");
        let words = batch(&[(None, "t")]);
        assert_eq!((words.events(), words.after(7)), (None, Bytes::from_static(b"t")));
        assert_eq!(batch(&[(Some(3), "x")]).after(3), Bytes::new());
    }
}
