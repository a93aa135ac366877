//! What the client says. Answers go straight to whoever waits for them; the rest waits here in order, bounded in bytes.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::AsyncBufRead;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::wire::{Control, LINE_MAX, Lines, WireError};

/// Most bytes of frames that wait to be looked at.
const WAITING_MAX: usize = 2 * LINE_MAX;

/// Something that the client says.
#[derive(Debug)]
pub(super) enum Said {
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
struct Parcel {
    said: Said,
    _room: Option<OwnedSemaphorePermit>,
}

/// What the client said and nobody has looked at.
#[derive(Debug)]
pub(super) struct Inbox {
    queue: mpsc::UnboundedReceiver<Parcel>,
}

impl Inbox {
    /// An inbox, and what fills it.
    pub(super) fn new<R: AsyncBufRead + Unpin + Send>(
        lines: Lines<R>,
        control: Arc<Control>,
    ) -> (Inbox, impl Future<Output = ()> + Send) {
        let (sender, queue) = mpsc::unbounded_channel();
        (Inbox { queue }, fill(lines, control, sender))
    }

    /// The next thing it says. After the end, the end again.
    pub(super) async fn next(&mut self) -> Said {
        self.queue.recv().await.map_or(Said::End, |parcel| parcel.said)
    }
}

async fn fill<R: AsyncBufRead + Unpin>(
    mut lines: Lines<R>,
    control: Arc<Control>,
    queue: mpsc::UnboundedSender<Parcel>,
) {
    let room = Arc::new(Semaphore::new(WAITING_MAX));
    loop {
        let (frame, size) = match lines.next().await {
            Ok(Some(read)) => read,
            Ok(None) => return,
            Err(error) => {
                // Whoever would read it is gone, and so is the reason to read on.
                queue.send(Parcel { said: Said::Broken(error), _room: None }).ok();
                return;
            }
        };
        let Some(said) = sort(frame, &control) else { continue };
        let Ok(room) = Arc::clone(&room).acquire_many_owned(u32::try_from(size).unwrap_or(u32::MAX)).await else {
            return;
        };
        if queue.send(Parcel { said, _room: Some(room) }).is_err() {
            return;
        }
    }
}

/// What a frame says to the door itself.
fn sort(mut frame: Value, control: &Control) -> Option<Said> {
    match frame["type"].as_str() {
        Some("control_response") => {
            control.answered(&frame);
            None
        }
        Some("control_request") => {
            let id = frame["request_id"].as_str()?.to_owned();
            Some(Said::Request { id, request: frame["request"].take() })
        }
        Some("user") => Some(Said::User(frame)),
        // A request that is cancelled is answered all the same: none of them takes long.
        Some("keep_alive" | "control_cancel_request") => None,
        other => {
            tracing::debug!(?other, "a frame of the client is passed over");
            None
        }
    }
}
