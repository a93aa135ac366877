//! Tells subscribers what happened: every durable event, and the text that streams before it is durable.
//!
//! Events are never lost: a subscriber that falls behind reads what it missed from the log. Streamed text may be
//! lost; the durable event that follows holds all of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host::Home;
use protocol::{Envelope, SessionId, TaskId, Turn};
use store::{Reader, StoreError};
use tokio::sync::broadcast::{self, error::RecvError};

/// How many items a subscriber may be behind before it goes back to the log.
const BACKLOG: usize = 1024;

/// How many events are read from the log at a time.
const PAGE: usize = 256;

/// One thing a subscriber is told.
#[derive(Debug, Clone)]
pub enum Live {
    /// A durable event.
    Event(Arc<Envelope>),
    /// More text of an answer that is still arriving.
    Text {
        /// Whose.
        task: TaskId,
        /// The turn whose event will hold it.
        turn: Turn,
        /// The text.
        text: String,
    },
}

/// Where the supervisor publishes.
#[derive(Debug, Clone)]
pub struct Bus {
    home: Home,
    session: SessionId,
    sender: broadcast::Sender<Live>,
    frames: Arc<Frames>,
}

/// The newest events as they are told to clients: each is written once, however many clients there are.
#[derive(Debug, Default)]
pub(crate) struct Frames(Mutex<VecDeque<(u64, Arc<[u8]>)>>);

/// How many events are kept as they were written.
const FRAMES: usize = 256;

/// Most bytes of one that is kept.
const FRAME_MAX: usize = 64 * 1024;

impl Frames {
    /// The frame of an event, made by `write` unless another client was told it already.
    pub(crate) fn get<E>(&self, seq: u64, write: impl FnOnce() -> Result<Arc<[u8]>, E>) -> Result<Arc<[u8]>, E> {
        let known = |frames: &VecDeque<(u64, Arc<[u8]>)>| {
            let at = frames.binary_search_by_key(&seq, |(known, _)| *known).ok()?;
            frames.get(at).map(|(_, frame)| Arc::clone(frame))
        };
        if let Some(frame) = known(&self.lock()) {
            return Ok(frame);
        }
        let frame = write()?;
        let mut frames = self.lock();
        // Old events that one client catches up with are nobody else's.
        if frame.len() <= FRAME_MAX && frames.back().is_none_or(|(newest, _)| *newest < seq) {
            if frames.len() == FRAMES {
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

impl Bus {
    pub(crate) fn new(home: Home, session: SessionId) -> Bus {
        Bus { home, session, sender: broadcast::Sender::new(BACKLOG), frames: Arc::default() }
    }

    pub(crate) fn publish(&self, live: Live) {
        // Nobody listening is fine: the log has it.
        let _listeners = self.sender.send(live);
    }

    /// Whatever happens to tasks from now on, without what it is.
    pub(crate) fn stirrings(&self) -> Stirrings {
        Stirrings(self.sender.subscribe())
    }

    /// Events as they are told to clients.
    pub(crate) fn frames(&self) -> Arc<Frames> {
        Arc::clone(&self.frames)
    }

    /// Everything after `seq`, then whatever happens.
    pub fn subscribe(&self, seq: u64) -> Subscription {
        Subscription {
            home: self.home.clone(),
            session: self.session,
            receiver: self.sender.subscribe(),
            seen: seq,
            missed: true,
            page: Vec::new(),
        }
    }
}

/// Tells that something has happened to a task.
#[derive(Debug)]
pub(crate) struct Stirrings(broadcast::Receiver<Live>);

impl Stirrings {
    /// Waits until something may have happened to the task; whether anything more can.
    pub(crate) async fn of(&mut self, task: TaskId) -> bool {
        loop {
            match self.0.recv().await {
                Ok(Live::Event(envelope)) if envelope.entry.task == task => return true,
                Ok(Live::Event(_) | Live::Text { .. }) => {}
                // It may have been among what was missed.
                Err(RecvError::Lagged(_)) => return true,
                Err(RecvError::Closed) => return false,
            }
        }
    }
}

/// A place in the stream of events.
#[derive(Debug)]
pub struct Subscription {
    home: Home,
    session: SessionId,
    receiver: broadcast::Receiver<Live>,
    seen: u64,
    missed: bool,
    /// Events read from the log and not given out, newest first.
    page: Vec<Envelope>,
}

impl Subscription {
    /// The last event that it gave out, or began after.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// The next thing; none when the session's owner is gone.
    pub async fn next(&mut self) -> Result<Option<Live>, StoreError> {
        loop {
            if let Some(envelope) = self.missed_event()? {
                self.seen = envelope.seq;
                return Ok(Some(Live::Event(Arc::new(envelope))));
            }
            match self.receiver.recv().await {
                Ok(Live::Event(envelope)) if envelope.seq <= self.seen => {}
                Ok(Live::Event(envelope)) if envelope.seq > self.seen + 1 => self.missed = true,
                Ok(Live::Event(envelope)) => {
                    self.seen = envelope.seq;
                    return Ok(Some(Live::Event(envelope)));
                }
                Ok(text @ Live::Text { .. }) => return Ok(Some(text)),
                Err(RecvError::Lagged(_)) => self.missed = true,
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }

    fn missed_event(&mut self) -> Result<Option<Envelope>, StoreError> {
        if self.page.is_empty() && self.missed {
            self.page = Reader::open(&self.home, self.session)?.events_after(self.seen, PAGE)?;
            self.page.reverse();
            self.missed = self.page.len() == PAGE;
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
        let frames = Frames::default();
        let mut written = 0;
        for _client in 0..120 {
            for seq in 1..=200 {
                let frame = frames.get(seq, || {
                    written += 1;
                    Ok::<_, Infallible>(seq.to_string().into_bytes().into())
                });
                assert_eq!(*frame.unwrap(), *seq.to_string().as_bytes());
            }
        }
        assert_eq!(written, 200);
        for seq in 1000..2000 {
            frames.get(seq, || Ok::<_, Infallible>(Arc::from(*b"x"))).unwrap();
        }
        assert!(frames.lock().len() <= FRAMES);
        let large = frames.get(2000, || Ok::<_, Infallible>(vec![0; FRAME_MAX + 1].into())).unwrap();
        assert_eq!((large.len(), frames.lock().back().map(|(seq, _)| *seq)), (FRAME_MAX + 1, Some(1999)));
    }
}
