//! Writes frames. What waits to be written is bounded in bytes: a client that does not read stops those who write to it,
//! and nobody else.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::shrink;

/// Most bytes of a line: clients read no more than 1 MiB.
pub(in crate::claude) const FRAME_MAX: usize = 1_000_000;

/// Most bytes that wait to be written.
const WAITING_MAX: usize = 8 * FRAME_MAX;

/// The client does not take frames any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub(in crate::claude) struct ClientGone;

/// Why a frame was not sent as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::claude) enum FrameSendError {
    /// It does not fit a line.
    #[error("it is larger than {FRAME_MAX} bytes")]
    TooLarge,
    /// Nobody reads it.
    #[error(transparent)]
    Gone(#[from] ClientGone),
}

/// A line that waits, with the room that it takes.
struct QueuedLine {
    line: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

/// Where frames for the client go.
#[derive(Debug, Clone)]
pub(in crate::claude) struct ClientWriter {
    queue: mpsc::UnboundedSender<QueuedLine>,
    capacity: Arc<Semaphore>,
    gone: CancellationToken,
}

impl ClientWriter {
    /// A writer, and what carries its frames to `output` until every writer is dropped or the client is gone.
    pub(in crate::claude) fn new<W: AsyncWrite + Unpin + Send>(
        output: W,
    ) -> (ClientWriter, impl Future<Output = ()> + Send) {
        let (parcels, queue) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(WAITING_MAX));
        let gone = CancellationToken::new();
        let carrying = write_queue(queue, output, gone.clone());
        (ClientWriter { queue: parcels, capacity: room, gone }, carrying)
    }

    /// Shows the client a frame. Texts in it are clipped if it is too large.
    pub(in crate::claude) async fn send(&self, frame: Value) -> Result<(), ClientGone> {
        let kind = frame.get("type").cloned();
        match shrink::fit_line(frame, FRAME_MAX) {
            Some(line) => self.enqueue(line).await,
            None => {
                tracing::warn!(?kind, "a frame is too large for the client, and is left out");
                Ok(())
            }
        }
    }

    /// Sends a frame exactly as it is.
    pub(in crate::claude) async fn send_exact(&self, frame: &Value) -> Result<(), FrameSendError> {
        let line = shrink::to_line(frame);
        match line.len() <= FRAME_MAX {
            true => Ok(self.enqueue(line).await?),
            false => Err(FrameSendError::TooLarge),
        }
    }

    /// Sends a small frame if there is room for it now.
    pub(in crate::claude) fn try_send(&self, frame: &Value) {
        let line = shrink::to_line(frame);
        let room =
            u32::try_from(line.len()).ok().and_then(|len| Arc::clone(&self.capacity).try_acquire_many_owned(len).ok());
        if let Some(room) = room {
            // A client that is gone needs no hint.
            self.queue.send(QueuedLine { line, _room: room }).ok();
        }
    }

    /// Waits until the client takes no more frames.
    pub(in crate::claude) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Whether the client takes no more frames.
    pub(in crate::claude) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    async fn enqueue(&self, line: Vec<u8>) -> Result<(), ClientGone> {
        let size = u32::try_from(line.len()).map_err(|_| ClientGone)?;
        let room = tokio::select! {
            room = Arc::clone(&self.capacity).acquire_many_owned(size) => room.map_err(|_| ClientGone)?,
            () = self.gone.cancelled() => return Err(ClientGone),
        };
        self.queue.send(QueuedLine { line, _room: room }).map_err(|_| ClientGone)
    }
}

async fn write_queue<W: AsyncWrite + Unpin>(
    mut queue: mpsc::UnboundedReceiver<QueuedLine>,
    mut output: W,
    gone: CancellationToken,
) {
    let _guard = gone.drop_guard();
    while let Some(parcel) = queue.recv().await {
        let written = async {
            output.write_all(&parcel.line).await?;
            // Whoever waits for several frames gets them in one write.
            if queue.is_empty() { output.flush().await } else { Ok(()) }
        };
        if let Err(error) = written.await {
            return tracing::debug!(%error, "the client does not read any more");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn frames_come_in_order_and_none_is_longer_than_a_client_reads() {
        let (mut client, output) = tokio::io::duplex(64);
        let (writer, carrying) = ClientWriter::new(output);
        let speaking = async {
            writer.send(json!({ "n": 1 })).await.unwrap();
            writer.send(json!({ "n": "x".repeat(3 * FRAME_MAX) })).await.unwrap();
            assert_eq!(writer.send_exact(&json!("x".repeat(FRAME_MAX))).await, Err(FrameSendError::TooLarge));
            writer.try_send(&json!({ "n": 3 }));
            drop(writer);
        };
        let mut read = String::new();
        tokio::join!(carrying, speaking, async { client.read_to_string(&mut read).await.unwrap() });
        let lines: Vec<&str> = read.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (3, r#"{"n":1}"#, r#"{"n":3}"#));
        assert!(lines[1].len() < FRAME_MAX);
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_holds_up_its_writer_within_bounds_and_is_seen_to_leave() {
        let (client, output) = tokio::io::duplex(64);
        let (writer, carrying) = ClientWriter::new(output);
        let mut set = tokio::task::JoinSet::new();
        set.spawn(carrying);
        let frame = json!("x".repeat(FRAME_MAX - 100));
        let sent = AtomicUsize::new(0);
        let flooding = async {
            while writer.send(frame.clone()).await.is_ok() {
                sent.fetch_add(1, Ordering::Relaxed);
            }
        };
        tokio::pin!(flooding);
        tokio::select! {
            biased;
            () = &mut flooding => unreachable!(),
            () = tokio::task::yield_now() => {}
        }
        drop(client);
        flooding.await;
        assert!(sent.load(Ordering::Relaxed) <= 9, "{sent:?}");
        assert!(writer.is_gone());
    }
}
