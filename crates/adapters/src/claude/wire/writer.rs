//! Writes frames. The queue is bounded in bytes: a client that does not read blocks only the senders of its frames.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::shrink;

/// Maximum bytes of a line: clients read at most 1 MiB.
pub(in crate::claude) const FRAME_MAX: usize = 1_000_000;

/// Maximum bytes queued for writing.
const MAX_QUEUED_BYTES: usize = 8 * FRAME_MAX;

/// The client no longer accepts frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client has disconnected")]
pub(in crate::claude) struct ClientGone;

/// Why a frame was not sent unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::claude) enum FrameSendError {
    /// It does not fit a line.
    #[error("it is larger than {FRAME_MAX} bytes")]
    TooLarge,
    /// The client does not read it.
    #[error(transparent)]
    Gone(#[from] ClientGone),
}

/// A queued line, with the capacity it occupies.
struct QueuedLine {
    line: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

/// Sends frames to the client.
#[derive(Debug, Clone)]
pub(in crate::claude) struct ClientWriter {
    queue: mpsc::UnboundedSender<QueuedLine>,
    capacity: Arc<Semaphore>,
    gone: CancellationToken,
}

impl ClientWriter {
    /// Creates a writer, and the future that writes its frames until every writer is dropped or the client is gone.
    pub(in crate::claude) fn new<W: AsyncWrite + Unpin + Send>(
        output: W,
    ) -> (ClientWriter, impl Future<Output = ()> + Send) {
        let (sender, queue) = mpsc::unbounded_channel();
        let capacity = Arc::new(Semaphore::new(MAX_QUEUED_BYTES));
        let gone = CancellationToken::new();
        let write = write_queue(queue, output, gone.clone());
        (ClientWriter { queue: sender, capacity, gone }, write)
    }

    /// Sends a frame. Texts in it are clipped if it is too large.
    pub(in crate::claude) async fn send(&self, frame: Value) -> Result<(), ClientGone> {
        let kind = frame.get("type").cloned();
        match shrink::fit_line(frame, FRAME_MAX) {
            Some(line) => self.enqueue(line).await,
            None => {
                tracing::warn!(?kind, "dropping a frame that is too large for the client");
                Ok(())
            }
        }
    }

    /// Sends a frame unchanged.
    pub(in crate::claude) async fn send_exact(&self, frame: &Value) -> Result<(), FrameSendError> {
        let line = shrink::to_line(frame);
        match line.len() <= FRAME_MAX {
            true => Ok(self.enqueue(line).await?),
            false => Err(FrameSendError::TooLarge),
        }
    }

    /// Sends a small frame if it fits now.
    pub(in crate::claude) fn try_send(&self, frame: &Value) {
        let line = shrink::to_line(frame);
        let permit =
            u32::try_from(line.len()).ok().and_then(|len| Arc::clone(&self.capacity).try_acquire_many_owned(len).ok());
        if let Some(permit) = permit {
            // Fails if the client is gone.
            self.queue.send(QueuedLine { line, _permit: permit }).ok();
        }
    }

    /// Waits until the client no longer accepts frames.
    pub(in crate::claude) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Whether the client no longer accepts frames.
    pub(in crate::claude) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    async fn enqueue(&self, line: Vec<u8>) -> Result<(), ClientGone> {
        let size = u32::try_from(line.len()).map_err(|_| ClientGone)?;
        let permit = tokio::select! {
            permit = Arc::clone(&self.capacity).acquire_many_owned(size) => permit.map_err(|_| ClientGone)?,
            () = self.gone.cancelled() => return Err(ClientGone),
        };
        self.queue.send(QueuedLine { line, _permit: permit }).map_err(|_| ClientGone)
    }
}

async fn write_queue<W: AsyncWrite + Unpin>(
    mut queue: mpsc::UnboundedReceiver<QueuedLine>,
    mut output: W,
    gone: CancellationToken,
) {
    let _guard = gone.drop_guard();
    while let Some(queued) = queue.recv().await {
        let written = async {
            output.write_all(&queued.line).await?;
            // Flush only when the queue is empty, so that several frames go out together.
            if queue.is_empty() { output.flush().await } else { Ok(()) }
        };
        if let Err(error) = written.await {
            return tracing::debug!(%error, "the client no longer reads");
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
    async fn frames_keep_order_and_fit_the_client_limit() {
        let (mut client, output) = tokio::io::duplex(64);
        let (writer, writing) = ClientWriter::new(output);
        let sending = async {
            writer.send(json!({ "n": 1 })).await.unwrap();
            writer.send(json!({ "n": "x".repeat(3 * FRAME_MAX) })).await.unwrap();
            assert_eq!(writer.send_exact(&json!("x".repeat(FRAME_MAX))).await, Err(FrameSendError::TooLarge));
            writer.try_send(&json!({ "n": 3 }));
            drop(writer);
        };
        let mut read = String::new();
        tokio::join!(writing, sending, async { client.read_to_string(&mut read).await.unwrap() });
        let lines: Vec<&str> = read.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (3, r#"{"n":1}"#, r#"{"n":3}"#));
        assert!(lines[1].len() < FRAME_MAX);
    }

    #[tokio::test]
    async fn unread_frames_are_bounded_and_a_leaving_client_is_noticed() {
        let (client, output) = tokio::io::duplex(64);
        let (writer, writing) = ClientWriter::new(output);
        let mut set = tokio::task::JoinSet::new();
        set.spawn(writing);
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
