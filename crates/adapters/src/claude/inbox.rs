//! What the client says. Answers go straight to whoever waits for them; the rest waits here in order, bounded in bytes.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::AsyncBufRead;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::wire::{ControlChannel, JsonLineReader, LINE_MAX, WireError};

/// Most bytes of frames that wait to be looked at.
const WAITING_MAX: usize = 2 * LINE_MAX;

/// Something that the client says.
#[derive(Debug)]
pub(super) enum ClientMessage {
    /// It asks for something.
    Request {
        /// What the answer is to carry.
        id: String,
        /// What it asks for, with its `subtype`.
        request: Value,
    },
    /// A message of its user.
    User(Value),
    /// It says nothing more.
    End,
    /// What it says cannot be read.
    Broken(WireError),
}

/// A frame that waits, with the room that it takes.
#[derive(Debug)]
struct QueuedMessage {
    message: ClientMessage,
    _room: Option<OwnedSemaphorePermit>,
}

/// What the client said and nobody has looked at.
#[derive(Debug)]
pub(super) struct ClientInbox {
    queue: mpsc::UnboundedReceiver<QueuedMessage>,
}

impl ClientInbox {
    /// An inbox, and what fills it.
    pub(super) fn new<R: AsyncBufRead + Unpin + Send>(
        lines: JsonLineReader<R>,
        control: Arc<ControlChannel>,
    ) -> (ClientInbox, impl Future<Output = ()> + Send) {
        let (sender, queue) = mpsc::unbounded_channel();
        let filling = async move {
            fill(lines, &control, sender).await;
            control.close();
        };
        (ClientInbox { queue }, filling)
    }

    /// The next thing it says. After the end, the end again.
    pub(super) async fn next(&mut self) -> ClientMessage {
        self.queue.recv().await.map_or(ClientMessage::End, |parcel| parcel.message)
    }
}

async fn fill<R: AsyncBufRead + Unpin>(
    mut lines: JsonLineReader<R>,
    control: &ControlChannel,
    queue: mpsc::UnboundedSender<QueuedMessage>,
) {
    let room = Arc::new(Semaphore::new(WAITING_MAX));
    loop {
        let (frame, size) = match lines.next().await {
            Ok(Some(read)) => read,
            Ok(None) => return,
            Err(error) => {
                // Whoever would read it is gone, and so is the reason to read on.
                queue.send(QueuedMessage { message: ClientMessage::Broken(error), _room: None }).ok();
                return;
            }
        };
        let Some(said) = classify(frame, control) else { continue };
        let Ok(room) = Arc::clone(&room).acquire_many_owned(u32::try_from(size).unwrap_or(u32::MAX)).await else {
            return;
        };
        if queue.send(QueuedMessage { message: said, _room: Some(room) }).is_err() {
            return;
        }
    }
}

/// What a frame says to the adapter itself.
fn classify(mut frame: Value, control: &ControlChannel) -> Option<ClientMessage> {
    match frame["type"].as_str() {
        Some("control_response") => {
            control.receive_response(&frame);
            None
        }
        Some("control_request") => {
            let id = frame["request_id"].as_str()?.to_owned();
            Some(ClientMessage::Request { id, request: frame["request"].take() })
        }
        Some("user") => Some(ClientMessage::User(frame)),
        // A request that is cancelled is answered all the same: none of them takes long.
        Some("keep_alive" | "control_cancel_request") => None,
        other => {
            tracing::debug!(?other, "a frame of the client is passed over");
            None
        }
    }
}
