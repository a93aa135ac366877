//! A session's events as server-sent events. The client pulls the stream: a client that does not read causes no work
//! and catches up later from the session's file. No run waits for it.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use client::{SessionHandle, StoreError};
use futures_util::Stream;
use futures_util::stream::unfold;
use host::Home;
use protocol::SessionId;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::relay::{EventBatch, EventRelay};
use super::stream_end::StreamClosing;

/// How many events are read from a file at a time.
const EVENTS_PER_PAGE: usize = 256;

/// How soon a client that lost its stream may reconnect, in milliseconds.
const RETRY: u32 = 1000;

/// A request for a session's event stream.
pub(super) struct EventStreamRequest {
    pub(super) home: Home,
    pub(super) session: SessionId,
    /// The last event that the client has.
    pub(super) last_seen: u64,
    pub(super) keep_alive: Duration,
    pub(super) closing: StreamClosing,
    /// Counts it among the open streams.
    pub(super) _permit: OwnedSemaphorePermit,
}

/// All events after the last one the client has: from the session's file, and from its relay while the session runs.
pub(super) fn stream(request: EventStreamRequest, relay: Option<Arc<EventRelay>>) -> impl Stream<Item = Bytes> + Send {
    let live = relay.and_then(|relay| Some(LiveEvents { batches: relay.subscribe()?, status: relay.status(), relay }));
    let events = SseEventStream { request, live, is_behind: true, is_over: false };
    unfold(Some(events), |events| async move {
        let mut events = events?;
        let piece = events.next().await?;
        Some((piece, Some(events)))
    })
}

struct SseEventStream {
    request: EventStreamRequest,
    live: Option<LiveEvents>,
    /// Whether the file may contain events that the client does not have.
    is_behind: bool,
    is_over: bool,
}

struct LiveEvents {
    batches: Receiver<Arc<EventBatch>>,
    /// The session's state when the client began to catch up; sent when it has caught up.
    status: Option<Bytes>,
    relay: Arc<EventRelay>,
}

enum StreamSignal {
    Batch(Arc<EventBatch>),
    Lagged,
    Idle,
    Closed,
}

impl SseEventStream {
    /// Returns the next piece of the stream, or `None` at its end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.is_over {
                return None;
            }
            if self.is_behind {
                match self.read_page() {
                    Ok(Some(page)) => return Some(page),
                    Ok(None) => self.is_behind = false,
                    Err(error) => {
                        // The stream is incomplete; the client can reconnect and read the rest later.
                        tracing::warn!(%error, "cannot read a session's file");
                        self.is_over = true;
                        let detail =
                            json!({ "seq": self.request.last_seen, "detail": "cannot read the session's file" });
                        return Some(format!("retry: {RETRY}\n{}", sse_event("error", None, &detail)).into());
                    }
                }
            }
            let Some(live) = &mut self.live else {
                self.is_over = true;
                if self.request.closing.is_handed_over() {
                    return None;
                }
                let end = sse_event("end", None, &json!({ "seq": self.request.last_seen }));
                return Some(format!("retry: {RETRY}\n{end}").into());
            };
            if let Some(status) = live.status.take() {
                return Some(status);
            }
            let signal = tokio::select! {
                biased;
                () = self.request.closing.closed() => StreamSignal::Closed,
                received = live.batches.recv() => match received {
                    Ok(batch) => StreamSignal::Batch(batch),
                    Err(RecvError::Lagged(_)) => StreamSignal::Lagged,
                    Err(RecvError::Closed) => StreamSignal::Closed,
                },
                () = tokio::time::sleep(self.request.keep_alive) => StreamSignal::Idle,
            };
            match signal {
                StreamSignal::Batch(batch) => {
                    if let Some(piece) = self.deliver(&batch) {
                        return Some(piece);
                    }
                }
                StreamSignal::Lagged => self.fall_behind(),
                StreamSignal::Idle => return Some(Bytes::from_static(b": nothing new\n\n")),
                StreamSignal::Closed => (self.live, self.is_behind) = (None, true),
            }
        }
    }

    /// The new part of a batch. Missing events before it are read from the file, which also contains the batch's own.
    fn deliver(&mut self, batch: &EventBatch) -> Option<Bytes> {
        let mut missed = Bytes::new();
        if let Some((first, last)) = batch.seq_range() {
            if first > self.request.last_seen + 1 {
                match self.read_page() {
                    Ok(Some(page)) => missed = page,
                    Ok(None) => {}
                    Err(_unreadable) => {
                        self.fall_behind();
                        return None;
                    }
                }
                if first > self.request.last_seen + 1 {
                    // More than a page is missing; the batch's events are read from the file too.
                    self.fall_behind();
                    return Some(missed).filter(|bytes| !bytes.is_empty());
                }
            }
            let new = batch.after(self.request.last_seen);
            self.request.last_seen = self.request.last_seen.max(last);
            return Some(joined(missed, new)).filter(|bytes| !bytes.is_empty());
        }
        Some(batch.after(self.request.last_seen)).filter(|bytes| !bytes.is_empty())
    }

    /// Switches back to the file. A missed state is sent after the events.
    fn fall_behind(&mut self) {
        self.is_behind = true;
        if let Some(live) = &mut self.live {
            live.status = live.relay.status();
        }
    }

    /// Reads the next events from the file; `None` if the client has them all.
    fn read_page(&mut self) -> Result<Option<Bytes>, StoreError> {
        let reader = SessionHandle::new(&self.request.home, self.request.session);
        let page = reader.events_after(self.request.last_seen, EVENTS_PER_PAGE)?;
        let Some(last) = page.last() else { return Ok(None) };
        self.request.last_seen = last.seq;
        let pieces = page
            .iter()
            .filter_map(|event| Some(sse_event("event", Some(event.seq), &serde_json::to_value(event).ok()?)));
        Ok(Some(pieces.collect::<String>().into()))
    }
}

fn joined(before: Bytes, after: Bytes) -> Bytes {
    match before.is_empty() {
        true => after,
        false => [before, after].concat().into(),
    }
}

/// Formats one event of the stream. Compact JSON contains no line breaks.
pub(super) fn sse_event(name: &str, seq: Option<u64>, data: &Value) -> String {
    let mut piece = String::new();
    if let Some(seq) = seq {
        // Writing to a `String` cannot fail.
        let _written = writeln!(piece, "id: {seq}");
    }
    let _written = write!(piece, "event: {name}\ndata: {data}\n\n");
    piece
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn unreadable_files_end_the_stream_with_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let session: SessionId = "ses-01900000-0000-7000-8000-000000000001".parse().unwrap();
        std::fs::create_dir_all(home.session_dir(session)).unwrap();
        for content in [None, Some("not a database".repeat(1000))] {
            if let Some(content) = content {
                std::fs::write(home.session_dir(session).join("session.db"), content).unwrap();
            }
            let request = EventStreamRequest {
                home: home.clone(),
                session,
                last_seen: 7,
                keep_alive: Duration::from_secs(1),
                closing: StreamClosing::default(),
                _permit: Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap(),
            };
            let output: Vec<Bytes> = stream(request, None).collect().await;
            let output = String::from_utf8(output.concat()).unwrap();
            assert!(output.contains("event: error\ndata: {") && output.contains("\"seq\":7"), "{output}");
            assert!(!output.contains("event: end"), "{output}");
        }
    }
}
