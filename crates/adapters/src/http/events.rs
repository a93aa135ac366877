//! A session's events as server-sent events. The stream is pulled: a client that takes nothing is asked for nothing, and
//! falls back to the session's file; no run waits for it.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use host::Home;
use protocol::SessionId;
use serde_json::{Value, json};
use store::{SessionReader, StoreError};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::relay::{EventBatch, EventRelay};

/// How many events are read from a file at a time.
const PAGE: usize = 256;

/// How soon a client that lost its stream may come back, in milliseconds.
const RETRY: u32 = 1000;

/// Who watches which session, and from where on.
pub(super) struct EventStreamRequest {
    pub(super) home: Home,
    pub(super) session: SessionId,
    /// The last event that the client has.
    pub(super) last_seen: u64,
    pub(super) keep_alive: Duration,
    pub(super) closing: CancellationToken,
    /// Its place among the streams.
    pub(super) _place: OwnedSemaphorePermit,
}

/// Everything after what the client has seen: from the session's file, and from its relay while somebody runs it.
pub(super) fn stream(watch: EventStreamRequest, relay: Option<Arc<EventRelay>>) -> impl Stream<Item = Bytes> + Send {
    let live = relay.and_then(|relay| Some(LiveEvents { batches: relay.subscribe()?, status: relay.status(), relay }));
    let feed = SseEventStream { watch, live, is_behind: true, is_over: false };
    unfold(Some(feed), |feed| async move {
        let mut feed = feed?;
        let piece = feed.next().await?;
        Some((piece, Some(feed)))
    })
}

struct SseEventStream {
    watch: EventStreamRequest,
    live: Option<LiveEvents>,
    /// Whether the file may hold events that the client has not got.
    is_behind: bool,
    is_over: bool,
}

struct LiveEvents {
    batches: Receiver<Arc<EventBatch>>,
    /// The session's state when the client began to catch up: it is told when the client has.
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
    /// The next piece of the stream; none when it is over.
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
                        // What cannot be read now can be read by whoever comes back: the stream is not complete.
                        tracing::warn!(%error, "a session's file cannot be read");
                        self.is_over = true;
                        let detail =
                            json!({ "seq": self.watch.last_seen, "detail": "the session's file cannot be read" });
                        return Some(format!("retry: {RETRY}\n{}", sse_event("error", None, &detail)).into());
                    }
                }
            }
            let Some(live) = &mut self.live else {
                self.is_over = true;
                let end = sse_event("end", None, &json!({ "seq": self.watch.last_seen }));
                return Some(format!("retry: {RETRY}\n{end}").into());
            };
            if let Some(status) = live.status.take() {
                return Some(status);
            }
            let heard = tokio::select! {
                biased;
                () = self.watch.closing.cancelled() => StreamSignal::Closed,
                told = live.batches.recv() => match told {
                    Ok(batch) => StreamSignal::Batch(batch),
                    Err(RecvError::Lagged(_)) => StreamSignal::Lagged,
                    Err(RecvError::Closed) => StreamSignal::Closed,
                },
                () = tokio::time::sleep(self.watch.keep_alive) => StreamSignal::Idle,
            };
            match heard {
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

    /// What is new in a batch. Events that are missing before it are in the file, and so are its own by now.
    fn deliver(&mut self, batch: &EventBatch) -> Option<Bytes> {
        let mut missed = Bytes::new();
        if let Some((first, last)) = batch.events() {
            if first > self.watch.last_seen + 1 {
                match self.read_page() {
                    Ok(Some(page)) => missed = page,
                    Ok(None) => {}
                    Err(_unreadable) => {
                        self.fall_behind();
                        return None;
                    }
                }
                if first > self.watch.last_seen + 1 {
                    // There is more than a page of it, and the batch's events are in the file too.
                    self.fall_behind();
                    return Some(missed).filter(|bytes| !bytes.is_empty());
                }
            }
            let new = batch.after(self.watch.last_seen);
            self.watch.last_seen = self.watch.last_seen.max(last);
            return Some(joined(missed, new)).filter(|bytes| !bytes.is_empty());
        }
        Some(batch.after(self.watch.last_seen)).filter(|bytes| !bytes.is_empty())
    }

    /// Goes back to the file. The state that was in what is missed is told after it.
    fn fall_behind(&mut self) {
        self.is_behind = true;
        if let Some(live) = &mut self.live {
            live.status = live.relay.status();
        }
    }

    /// The next events of the file; nothing if the client has them all.
    fn read_page(&mut self) -> Result<Option<Bytes>, StoreError> {
        let reader = SessionReader::open(&self.watch.home, self.watch.session)?;
        let page = reader.events_after(self.watch.last_seen, PAGE)?;
        let Some(last) = page.last() else { return Ok(None) };
        self.watch.last_seen = last.seq;
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

/// One event of the stream. JSON has no line breaks of its own.
pub(super) fn sse_event(name: &str, seq: Option<u64>, data: &Value) -> String {
    let mut piece = String::new();
    if let Some(seq) = seq {
        // Writing to a text cannot fail.
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
    async fn a_stream_whose_file_cannot_be_read_ends_with_an_error_and_not_as_complete() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let session: SessionId = "ses-01900000-0000-7000-8000-000000000001".parse().unwrap();
        std::fs::create_dir_all(home.session_dir(session)).unwrap();
        for content in [None, Some("not a database".repeat(1000))] {
            if let Some(content) = content {
                std::fs::write(home.session_dir(session).join("session.db"), content).unwrap();
            }
            let watch = EventStreamRequest {
                home: home.clone(),
                session,
                last_seen: 7,
                keep_alive: Duration::from_secs(1),
                closing: CancellationToken::new(),
                _place: Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap(),
            };
            let told: Vec<Bytes> = stream(watch, None).collect().await;
            let told = String::from_utf8(told.concat()).unwrap();
            assert!(told.contains("event: error\ndata: {") && told.contains("\"seq\":7"), "{told}");
            assert!(!told.contains("event: end"), "{told}");
        }
    }
}
