//! A session's events as server-sent events. The stream is pulled: a client that takes nothing is asked for nothing, the
//! session's own subscription falls back to the log, and no run waits for it.

use std::fmt::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use host::Home;
use protocol::SessionId;
use protocol::api::{Method, SubscribeParams};
use rpc::{CallError, Client, Notifications};
use serde_json::{Value, json};
use store::Reader;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::reach::Reach;

/// How many events are read from a file at a time.
const PAGE: usize = 256;

/// How soon a client that lost its stream may come back, in milliseconds.
const RETRY: u32 = 1000;

/// Who watches which session, and from where on.
pub(super) struct Watch {
    pub(super) home: Home,
    pub(super) session: SessionId,
    /// The last event that the client has.
    pub(super) seen: u64,
    pub(super) keep_alive: Duration,
    pub(super) closing: CancellationToken,
    /// Its place among the streams.
    pub(super) _place: OwnedSemaphorePermit,
}

/// Everything after what the client has seen: from whoever runs the session while somebody does, from its file
/// otherwise.
pub(super) fn stream(watch: Watch, reach: Reach) -> impl Stream<Item = Bytes> + Send {
    let source = match reach {
        Reach::Live((client, notifications)) => live(client, notifications, watch.seen),
        Reach::Resting(reader) => Source::File(reader),
    };
    let feed = Feed { watch, source };
    unfold(Some(feed), |feed| async move {
        let mut feed = feed?;
        let piece = feed.next().await?;
        Some((piece, Some(feed)))
    })
}

struct Feed {
    watch: Watch,
    source: Source,
}

enum Source {
    Live { subscribing: Option<Subscribing>, notifications: Notifications, _client: Arc<Client> },
    File(Reader),
    Over,
}

/// The call that begins a subscription; its answer may come after the first events.
type Subscribing = Pin<Box<dyn Future<Output = Result<Value, CallError>> + Send>>;

fn live(client: Client, notifications: Notifications, after: u64) -> Source {
    let client = Arc::new(client);
    let caller = Arc::clone(&client);
    let subscribing =
        Box::pin(async move { caller.call::<Value>(Method::EventsSubscribe, SubscribeParams { after }).await });
    Source::Live { subscribing: Some(subscribing), notifications, _client: client }
}

impl Feed {
    /// The next piece of the stream; none when it is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match &mut self.source {
                Source::Live { subscribing, notifications, .. } => {
                    let heard = tokio::select! {
                        biased;
                        () = self.watch.closing.cancelled() => Heard::Closed,
                        Err(_refused) = answer(subscribing) => Heard::Closed,
                        told = notifications.next() => told.map_or(Heard::Closed, Heard::Told),
                        () = tokio::time::sleep(self.watch.keep_alive) => Heard::Nothing,
                    };
                    match heard {
                        Heard::Told(told) => {
                            if let Some(piece) = self.tell(&told) {
                                return Some(piece);
                            }
                        }
                        Heard::Nothing => return Some(Bytes::from_static(b": nothing new\n\n")),
                        Heard::Closed => self.source = self.file(),
                    }
                }
                Source::File(reader) => {
                    // What cannot be read now can be read by whoever comes back.
                    let page = reader.events_after(self.watch.seen, PAGE).unwrap_or_default();
                    let Some(last) = page.last() else { break };
                    self.watch.seen = last.seq;
                    let pieces = page
                        .iter()
                        .filter_map(|event| Some(piece("event", Some(event.seq), &serde_json::to_value(event).ok()?)));
                    return Some(pieces.collect::<String>().into());
                }
                Source::Over => return None,
            }
        }
        self.source = Source::Over;
        let end = piece("end", None, &json!({ "seq": self.watch.seen }));
        Some(format!("retry: {RETRY}\n{end}").into())
    }

    /// What the session said, as the client is told it; nothing if the client has it.
    fn tell(&mut self, told: &rpc::Notification) -> Option<Bytes> {
        let seq = match told.method.as_str() {
            "event" => {
                let seq = told.params["seq"].as_u64().filter(|seq| *seq > self.watch.seen)?;
                self.watch.seen = seq;
                Some(seq)
            }
            "text" | "status" => None,
            _newer => return None,
        };
        Some(piece(&told.method, seq, &told.params).into())
    }

    fn file(&self) -> Source {
        Reader::open(&self.watch.home, self.watch.session).map_or(Source::Over, Source::File)
    }
}

enum Heard {
    Told(rpc::Notification),
    Nothing,
    Closed,
}

/// Waits for the answer to a subscription, if that is still to come; otherwise for ever.
async fn answer(subscribing: &mut Option<Subscribing>) -> Result<(), CallError> {
    if let Some(call) = subscribing {
        let answered = call.await;
        *subscribing = None;
        answered?;
    }
    std::future::pending().await
}

/// One event of the stream. JSON has no line breaks of its own.
fn piece(name: &str, seq: Option<u64>, data: &Value) -> String {
    let mut piece = String::new();
    if let Some(seq) = seq {
        // Writing to a text cannot fail.
        let _written = writeln!(piece, "id: {seq}");
    }
    let _written = write!(piece, "event: {name}\ndata: {data}\n\n");
    piece
}
