//! Relays one session's events to all its watchers. Each event is formatted once, and events that come close together
//! form one batch that all watchers share, so that the cost of a watcher does not depend on the number of events.

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

/// How many batches a watcher may be behind before it switches to the file.
const MAX_BACKLOG_BATCHES: usize = 128;

/// Maximum bytes of a batch.
const MAX_BATCH_BYTES: usize = 256 * 1024;

/// The minimum time between two batches: a single event is sent at once, events in quick succession together.
const BATCH_INTERVAL: Duration = Duration::from_millis(BATCH_INTERVAL_MS);
const BATCH_INTERVAL_MS: u64 = 50;

/// Formatted events that all watchers share.
#[derive(Debug)]
pub(super) struct EventBatch {
    chunks: Vec<EventChunk>,
    bytes: Bytes,
}

#[derive(Debug)]
struct EventChunk {
    /// The sequence number, if this is a logged event.
    seq: Option<u64>,
    bytes: Bytes,
}

impl EventBatch {
    /// The sequence numbers of its first and last event.
    pub(super) fn seq_range(&self) -> Option<(u64, u64)> {
        let mut events = self.chunks.iter().filter_map(|piece| piece.seq);
        let first = events.next()?;
        Some((first, events.last().unwrap_or(first)))
    }

    /// The part that is new to a watcher that has seen events up to `seen`.
    pub(super) fn after(&self, seen: u64) -> Bytes {
        let is_new = |piece: &&EventChunk| piece.seq.is_none_or(|seq| seq > seen);
        if self.chunks.iter().all(|piece| is_new(&piece)) {
            return self.bytes.clone();
        }
        let mut bytes = BytesMut::new();
        self.chunks.iter().filter(is_new).for_each(|piece| bytes.extend_from_slice(&piece.bytes));
        bytes.freeze()
    }
}

/// Relays one session's events to all its watchers, as long as there are any.
#[derive(Debug)]
pub(super) struct EventRelay {
    /// Weak, so that the channel closes for the watchers when the task ends.
    batches: broadcast::WeakSender<Arc<EventBatch>>,
    /// The session's last reported state.
    status: Arc<Mutex<Option<Bytes>>>,
    _work: JoinSet<()>,
}

impl EventRelay {
    /// Relays the events after a sequence number from a connection to a session.
    pub(super) fn new(client: RpcClient, notifications: Notifications, after: u64) -> EventRelay {
        let batches = broadcast::Sender::new(MAX_BACKLOG_BATCHES);
        let status = Arc::default();
        let mut work = JoinSet::new();
        let weak = batches.downgrade();
        let task = RelayTask { batches, status: Arc::clone(&status) };
        work.spawn(task.run(client, notifications, after));
        EventRelay { batches: weak, status, _work: work }
    }

    /// Subscribes to future batches; `None` if the session's owner is gone.
    pub(super) fn subscribe(&self) -> Option<broadcast::Receiver<Arc<EventBatch>>> {
        Some(self.batches.upgrade()?.subscribe())
    }

    /// The session's last reported state.
    pub(super) fn status(&self) -> Option<Bytes> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The relays of all watched sessions.
#[derive(Debug, Default)]
pub(super) struct EventRelays(Mutex<HashMap<SessionId, Weak<EventRelay>>>);

impl EventRelays {
    /// The relay of a session that is already being watched.
    pub(super) fn find(&self, id: SessionId) -> Option<Arc<EventRelay>> {
        let relays = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        relays.get(&id).and_then(Weak::upgrade).filter(|relay| relay.batches.upgrade().is_some())
    }

    /// Stores a relay for later watchers.
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
        let subscribe =
            client.call::<Value>(Method::EventsSubscribe, SubscribeParams { after, pause_ms: BATCH_INTERVAL_MS });
        let relay = async {
            let mut last_sent = Instant::now().checked_sub(BATCH_INTERVAL);
            while let Ok(first) = notifications.next().await {
                let mut pieces = Vec::from_iter(self.format_chunk(&first));
                let mut size: usize = pieces.iter().map(|piece| piece.bytes.len()).sum();
                let batch_end = last_sent.map(|last_sent| last_sent + BATCH_INTERVAL);
                while size < MAX_BATCH_BYTES {
                    let Some(next) = next_before(&mut notifications, batch_end).await else { break };
                    let piece = self.format_chunk(&next);
                    size += piece.as_ref().map_or(0, |piece| piece.bytes.len());
                    pieces.extend(piece);
                }
                self.publish(pieces);
                last_sent = Some(Instant::now());
            }
        };
        tokio::select! {
            // The response may come after the first events.
            () = async { match subscribe.await {
                Ok(_subscribed) => std::future::pending().await,
                Err(error) => tracing::warn!(%error, "cannot watch a session"),
            } } => {}
            () = relay => {}
        }
    }

    fn format_chunk(&self, notification: &RpcNotification) -> Option<EventChunk> {
        let seq = match notification.method.as_str() {
            "event" => Some(notification.params["seq"].as_u64()?),
            "text" | "status" => None,
            _newer => return None,
        };
        let bytes = Bytes::from(sse_event(&notification.method, seq, &notification.params));
        if notification.method == "status" {
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
        // Fails if all watchers have left.
        let _watchers = self.batches.send(Arc::new(EventBatch { chunks: pieces, bytes: whole.freeze() }));
    }
}

/// Returns the next notification if it arrives before `until`.
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
        let chunk = |(seq, text): &(Option<u64>, &'static str)| EventChunk {
            seq: *seq,
            bytes: Bytes::from_static(text.as_bytes()),
        };
        let whole: String = pieces.iter().map(|(_, text)| *text).collect();
        EventBatch { chunks: pieces.iter().map(chunk).collect(), bytes: whole.into() }
    }

    #[test]
    fn watchers_get_new_chunks_and_share_whole_batches() {
        let mixed = batch(&[(Some(5), "a"), (None, "t"), (Some(6), "b"), (None, "s")]);
        assert_eq!(mixed.seq_range(), Some((5, 6)));
        for (seen, expected) in [(0, "atbs"), (4, "atbs"), (5, "tbs"), (6, "ts"), (9, "ts")] {
            assert_eq!(mixed.after(seen), expected.as_bytes(), "{seen}");
        }
        assert_eq!(mixed.after(4).as_ptr(), mixed.bytes.as_ptr(), "it is not copied");
        let text_only = batch(&[(None, "t")]);
        assert_eq!((text_only.seq_range(), text_only.after(7)), (None, Bytes::from_static(b"t")));
        assert_eq!(batch(&[(Some(3), "x")]).after(3), Bytes::new());
    }
}
