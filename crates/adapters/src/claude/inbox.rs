//! Messages of the client. Responses go directly to the request that waits for them; all others are queued here in
//! order, bounded in bytes.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::AsyncBufRead;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::wire::{ControlChannel, JsonLineReader, LINE_MAX, WireError};

/// Maximum bytes of queued frames.
const MAX_QUEUED_BYTES: usize = 2 * LINE_MAX;

/// A message of the client.
#[derive(Debug)]
pub(super) enum ClientMessage {
    /// A control request.
    Request {
        /// The id that the response must carry.
        id: String,
        /// The request, with its `subtype`.
        request: Value,
    },
    /// A user message.
    User(Value),
    /// The client has closed its input.
    End,
    /// The input cannot be read.
    Broken(WireError),
}

/// A queued message, with the capacity it occupies.
#[derive(Debug)]
struct QueuedMessage {
    message: ClientMessage,
    _permit: Option<OwnedSemaphorePermit>,
}

/// The queue of unprocessed messages.
#[derive(Debug)]
pub(super) struct ClientInbox {
    queue: mpsc::UnboundedReceiver<QueuedMessage>,
}

impl ClientInbox {
    /// Creates an inbox and the future that fills it.
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

    /// Returns the next message; after the end, `End` again.
    pub(super) async fn next(&mut self) -> ClientMessage {
        self.queue.recv().await.map_or(ClientMessage::End, |queued| queued.message)
    }
}

async fn fill<R: AsyncBufRead + Unpin>(
    mut lines: JsonLineReader<R>,
    control: &ControlChannel,
    queue: mpsc::UnboundedSender<QueuedMessage>,
) {
    let capacity = Arc::new(Semaphore::new(MAX_QUEUED_BYTES));
    loop {
        let (frame, size) = match lines.next().await {
            Ok(Some(read)) => read,
            Ok(None) => return,
            Err(error) => {
                // Fails if the inbox is dropped; reading ends anyway.
                queue.send(QueuedMessage { message: ClientMessage::Broken(error), _permit: None }).ok();
                return;
            }
        };
        let Some(message) = classify(frame, control) else { continue };
        let Ok(permit) = Arc::clone(&capacity).acquire_many_owned(u32::try_from(size).unwrap_or(u32::MAX)).await else {
            return;
        };
        if queue.send(QueuedMessage { message, _permit: Some(permit) }).is_err() {
            return;
        }
    }
}

/// Classifies a frame; `None` if the adapter need not handle it.
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
        // A cancelled control request is answered like any other, because none of them takes long.
        Some("keep_alive" | "control_cancel_request") => None,
        other => {
            tracing::debug!(?other, "ignoring a frame of the client");
            None
        }
    }
}
