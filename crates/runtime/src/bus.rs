//! Sends subscribers every durable event, and streamed text before it is durable.
//!
//! Events are never lost: a subscriber that falls behind reads missed events from the log. Streamed text may be lost;
//! the durable event that follows holds all of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::{Envelope, TaskId, Turn};
use store::StoreError;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::kept_reader::KeptReader;

/// How many messages a subscriber may be behind before it reads from the log.
const MAX_BACKLOG: usize = 1024;

/// How many events are read from the log at a time.
const PAGE_EVENTS: usize = 256;

/// A message to subscribers.
#[derive(Debug, Clone)]
pub enum BusMessage {
    /// A durable event.
    Event(Arc<Envelope>),
    /// More text of an answer that is still arriving.
    Text {
        /// The answering task.
        task: TaskId,
        /// The turn whose event will hold the text.
        turn: Turn,
        /// The text.
        text: String,
    },
}

/// The channel on which the supervisor publishes.
#[derive(Debug, Clone)]
pub struct EventBus {
    reader: Arc<KeptReader>,
    sender: broadcast::Sender<BusMessage>,
    frames: Arc<FrameCache>,
}

/// The newest events as serialised for clients: each is serialised once, however many clients there are.
#[derive(Debug, Default)]
pub(crate) struct FrameCache(Mutex<VecDeque<(u64, Arc<[u8]>)>>);

/// Maximum number of cached frames.
const MAX_FRAMES: usize = 256;

/// Maximum size of a cached frame.
const MAX_FRAME_BYTES: usize = 64 * 1024;

impl FrameCache {
    /// Returns the frame of an event; `write` makes it unless it is cached.
    pub(crate) fn get_or_write<E>(
        &self,
        seq: u64,
        write: impl FnOnce() -> Result<Arc<[u8]>, E>,
    ) -> Result<Arc<[u8]>, E> {
        let cached = |frames: &VecDeque<(u64, Arc<[u8]>)>| {
            let index = frames.binary_search_by_key(&seq, |(known, _)| *known).ok()?;
            frames.get(index).map(|(_, frame)| Arc::clone(frame))
        };
        if let Some(frame) = cached(&self.lock()) {
            return Ok(frame);
        }
        let frame = write()?;
        let mut frames = self.lock();
        // Old events are not cached: only the client that catches up with them needs them.
        if frame.len() <= MAX_FRAME_BYTES && frames.back().is_none_or(|(newest, _)| *newest < seq) {
            if frames.len() == MAX_FRAMES {
                frames.pop_front();
            }
            frames.push_back((seq, Arc::clone(&frame)));
        }
        Ok(frame)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, Arc<[u8]>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventBus {
    pub(crate) fn new(reader: Arc<KeptReader>) -> EventBus {
        EventBus { reader, sender: broadcast::Sender::new(MAX_BACKLOG), frames: Arc::default() }
    }

    pub(crate) fn publish(&self, message: BusMessage) {
        // Without subscribers, the message may be dropped: the log has every event.
        let _subscribers = self.sender.send(message);
    }

    /// The cached frames for clients.
    pub(crate) fn frames(&self) -> Arc<FrameCache> {
        Arc::clone(&self.frames)
    }

    /// Subscribes to all events after `seq`, past and future.
    pub fn subscribe(&self, seq: u64) -> Subscription {
        Subscription {
            reader: Arc::clone(&self.reader),
            receiver: self.sender.subscribe(),
            last_seq: seq,
            missed: true,
            page: Vec::new(),
        }
    }
}

/// A subscriber's position in the stream of events.
#[derive(Debug)]
pub struct Subscription {
    reader: Arc<KeptReader>,
    receiver: broadcast::Receiver<BusMessage>,
    last_seq: u64,
    /// Whether the log holds events that were neither received nor read yet.
    missed: bool,
    /// Events read from the log and not yet returned, newest first.
    page: Vec<Envelope>,
}

impl Subscription {
    /// The last event that was returned, or the one after which the subscription starts.
    pub(crate) fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Returns the next message, or `None` when the session's owner process is gone.
    pub async fn next(&mut self) -> Result<Option<BusMessage>, StoreError> {
        loop {
            if let Some(envelope) = self.missed_event()? {
                self.last_seq = envelope.seq;
                return Ok(Some(BusMessage::Event(Arc::new(envelope))));
            }
            match self.receiver.recv().await {
                Ok(BusMessage::Event(envelope)) if envelope.seq <= self.last_seq => {}
                Ok(BusMessage::Event(envelope)) if envelope.seq > self.last_seq + 1 => self.missed = true,
                Ok(BusMessage::Event(envelope)) => {
                    self.last_seq = envelope.seq;
                    return Ok(Some(BusMessage::Event(envelope)));
                }
                Ok(text @ BusMessage::Text { .. }) => return Ok(Some(text)),
                Err(RecvError::Lagged(_)) => self.missed = true,
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }

    fn missed_event(&mut self) -> Result<Option<Envelope>, StoreError> {
        if self.page.is_empty() && self.missed {
            self.page = self.reader.query(|reader| reader.events_after(self.last_seq, PAGE_EVENTS))?;
            self.page.reverse();
            self.missed = self.page.len() == PAGE_EVENTS;
        }
        Ok(self.page.pop())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn an_event_is_written_once_for_all_clients() {
        let frames = FrameCache::default();
        let mut written = 0;
        for _client in 0..120 {
            for seq in 1..=200 {
                let frame = frames.get_or_write(seq, || {
                    written += 1;
                    Ok::<_, Infallible>(seq.to_string().into_bytes().into())
                });
                assert_eq!(*frame.unwrap(), *seq.to_string().as_bytes());
            }
        }
        assert_eq!(written, 200);
        for seq in 1000..2000 {
            frames.get_or_write(seq, || Ok::<_, Infallible>(Arc::from(*b"x"))).unwrap();
        }
        assert!(frames.lock().len() <= MAX_FRAMES);
        let large = frames.get_or_write(2000, || Ok::<_, Infallible>(vec![0; MAX_FRAME_BYTES + 1].into())).unwrap();
        assert_eq!((large.len(), frames.lock().back().map(|(seq, _)| *seq)), (MAX_FRAME_BYTES + 1, Some(1999)));
    }
}
