//! The queue of messages to one peer, bounded in bytes. When it is full, a sender either chooses to wait, or the peer
//! is closed for reading too slowly. Nothing else ever waits for a peer.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{ErrorObject, Framing, RpcMessage, RpcResponse};

/// How many bytes of queued messages are combined into one write.
const MAX_WRITE_BYTES: usize = 64 * 1024;

/// Limits of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum bytes of one message, in either direction.
    pub max_frame_bytes: u32,
    /// Maximum bytes queued for writing; never less than a frame.
    pub max_queue_bytes: u32,
    /// How long a closing connection may take to write the rest of its queue.
    pub grace: Duration,
}

impl ConnectionLimits {
    /// Limits for processes on the same machine.
    pub const LOCAL: ConnectionLimits =
        ConnectionLimits { max_frame_bytes: 8 << 20, max_queue_bytes: 16 << 20, grace: Duration::from_secs(2) };
}

/// Why a message was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The connection is closed, or was just closed because the peer reads too slowly.
    #[error("the connection is closed")]
    Closed,
    /// The message does not fit a frame.
    #[error("the message is larger than {max} bytes")]
    TooLarge {
        /// The maximum size of a frame in bytes.
        max: u32,
    },
}

/// The sending side of a connection; clones share one queue.
#[derive(Debug, Clone)]
pub struct Outbox {
    queue: mpsc::UnboundedSender<OutboxItem>,
    shared: Arc<OutboxState>,
}

#[derive(Debug)]
struct OutboxState {
    framing: Framing,
    limits: ConnectionLimits,
    capacity: Arc<Semaphore>,
    closed: CancellationToken,
    close_reason: OnceLock<ErrorObject>,
}

#[derive(Debug)]
enum OutboxItem {
    /// A frame, and the capacity it occupies until it is written.
    Frame(Arc<[u8]>, OwnedSemaphorePermit),
    End,
}

impl Outbox {
    /// Creates a queue and its writer.
    pub(crate) fn new(framing: Framing, limits: ConnectionLimits) -> (Outbox, OutboxWriter) {
        let limits = ConnectionLimits { max_queue_bytes: limits.max_queue_bytes.max(limits.max_frame_bytes), ..limits };
        let (queue, items) = mpsc::unbounded_channel();
        let shared = Arc::new(OutboxState {
            framing,
            limits,
            capacity: Arc::new(Semaphore::new(limits.max_queue_bytes as usize)),
            closed: CancellationToken::new(),
            close_reason: OnceLock::new(),
        });
        (Outbox { queue, shared: Arc::clone(&shared) }, OutboxWriter { items, shared })
    }

    /// Queues a message at once. If it does not fit, the peer is closed.
    pub fn push(&self, message: RpcMessage) -> Result<(), SendError> {
        let (json, size) = self.encode(message)?;
        match Arc::clone(&self.shared.capacity).try_acquire_many_owned(size) {
            Ok(permit) => self.enqueue(json, permit),
            Err(_) => {
                self.close(too_slow(self.shared.limits.max_queue_bytes));
                Err(SendError::Closed)
            }
        }
    }

    /// Queues a message as soon as it fits.
    pub async fn send(&self, message: RpcMessage) -> Result<(), SendError> {
        let (json, size) = self.encode(message)?;
        let permit = Arc::clone(&self.shared.capacity).acquire_many_owned(size);
        match self.shared.closed.run_until_cancelled(permit).await {
            Some(Ok(permit)) => self.enqueue(json, permit),
            Some(Err(_)) | None => Err(SendError::Closed),
        }
    }

    /// Queues a frame that several connections share, as soon as it fits.
    pub(crate) async fn send_shared(&self, frame: Arc<[u8]>) -> Result<(), SendError> {
        let max = self.shared.limits.max_frame_bytes;
        let size = u32::try_from(frame.len()).ok().filter(|size| *size <= max).ok_or(SendError::TooLarge { max })?;
        let permit = Arc::clone(&self.shared.capacity).acquire_many_owned(size);
        match self.shared.closed.run_until_cancelled(permit).await {
            Some(Ok(permit)) => self.queue.send(OutboxItem::Frame(frame, permit)).map_err(|_| SendError::Closed),
            Some(Err(_)) | None => Err(SendError::Closed),
        }
    }

    /// Wraps a message in this connection's framing.
    pub(crate) fn wrap(&self, json: Vec<u8>) -> Arc<[u8]> {
        self.shared.framing.wrap(json).into()
    }

    /// Closes the connection: queued messages are dropped, and the peer gets the reason if it still reads.
    pub fn close(&self, why: ErrorObject) {
        // The first reason is the real one; later ones follow from it.
        self.shared.close_reason.set(why).ok();
        self.shared.closed.cancel();
    }

    /// Ends the stream after everything queued so far.
    pub(crate) fn finish(&self) {
        // Fails if the writer, and with it the stream, has already ended.
        self.queue.send(OutboxItem::End).ok();
    }

    /// Waits until the connection is closed from either side.
    pub async fn closed(&self) {
        self.shared.closed.cancelled().await;
    }

    fn encode(&self, message: RpcMessage) -> Result<(Vec<u8>, u32), SendError> {
        let json = message.into_json();
        let max = self.shared.limits.max_frame_bytes;
        match u32::try_from(json.len()) {
            Ok(size) if size <= max => Ok((json, size)),
            Ok(_) | Err(_) => Err(SendError::TooLarge { max }),
        }
    }

    fn enqueue(&self, json: Vec<u8>, permit: OwnedSemaphorePermit) -> Result<(), SendError> {
        let frame = self.shared.framing.wrap(json);
        self.queue.send(OutboxItem::Frame(frame.into(), permit)).map_err(|_| SendError::Closed)
    }
}

fn too_slow(max: u32) -> ErrorObject {
    let advice = "reconnect and continue after the last sequence number you received";
    ErrorObject::new(ErrorObject::TOO_SLOW, format!("more than {max} bytes are waiting to be read: {advice}"))
}

/// Writes the messages of an outbox. The connection owns the task that runs it.
#[derive(Debug)]
pub(crate) struct OutboxWriter {
    items: mpsc::UnboundedReceiver<OutboxItem>,
    shared: Arc<OutboxState>,
}

impl OutboxWriter {
    /// Writes until the queue is finished or closed, or the peer is gone.
    pub(crate) async fn run(mut self, output: impl AsyncWrite + Unpin) {
        let shared = Arc::clone(&self.shared);
        let close_timeout = async {
            shared.closed.cancelled().await;
            tokio::time::sleep(shared.limits.grace).await;
        };
        tokio::select! {
            // A failed write means that the peer is gone; the reading side notices too.
            _ = self.write(output) => {}
            () = close_timeout => {}
        }
        shared.closed.cancel();
    }

    async fn write(&mut self, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        loop {
            let item = tokio::select! {
                biased;
                () = self.shared.closed.cancelled() => break,
                item = self.items.recv() => item,
            };
            let Some(OutboxItem::Frame(frame, permit)) = item else { break };
            if self.items.is_empty() {
                output.write_all(&frame).await?;
                output.flush().await?;
                continue;
            }
            // Combine all queued frames into one write.
            let (mut batch, mut permits, mut is_over) = (frame.to_vec(), vec![permit], false);
            while batch.len() < MAX_WRITE_BYTES
                && !is_over
                && let Ok(item) = self.items.try_recv()
            {
                match item {
                    OutboxItem::Frame(frame, permit) => {
                        batch.extend_from_slice(&frame);
                        permits.push(permit);
                    }
                    OutboxItem::End => is_over = true,
                }
            }
            output.write_all(&batch).await?;
            output.flush().await?;
            if is_over {
                break;
            }
        }
        if let Some(error) = self.shared.close_reason.get() {
            let close_message = RpcMessage::Response(RpcResponse { id: None, outcome: Err(error.clone()) });
            output.write_all(&self.shared.framing.wrap(close_message.into_json())).await?;
        }
        output.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use serde_json::Value;
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::RpcNotification;

    const SMALL: ConnectionLimits =
        ConnectionLimits { max_frame_bytes: 200, max_queue_bytes: 300, grace: Duration::from_secs(1) };

    fn notification(size: usize) -> RpcMessage {
        RpcMessage::Notification(RpcNotification { method: "x".repeat(size), params: Value::Null })
    }

    #[tokio::test]
    async fn too_large_messages_are_refused_and_the_outbox_stays_open() {
        let (outbox, _writer) = Outbox::new(Framing::Lines, SMALL);
        assert_eq!(outbox.push(notification(400)), Err(SendError::TooLarge { max: 200 }));
        assert_eq!(outbox.send(notification(400)).await, Err(SendError::TooLarge { max: 200 }));
        assert_eq!(outbox.push(notification(1)), Ok(()));
    }

    #[tokio::test]
    async fn queued_messages_are_written_together() {
        let (outbox, writer) = Outbox::new(Framing::Lines, SMALL);
        (0..3).for_each(|n| outbox.push(notification(n + 1)).unwrap());
        outbox.finish();
        let together: Vec<u8> = (0..3).flat_map(|n| Framing::Lines.wrap(notification(n + 1).into_json())).collect();
        let mut writes = Writes::default();
        writer.run(&mut writes).await;
        assert_eq!(writes.0, [together]);
    }

    /// Records every write.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl AsyncWrite for Writes {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
            self.0.push(bytes.to_vec());
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn overflow_drops_the_queue_and_sends_the_reason() {
        let (outbox, writer) = Outbox::new(Framing::Lines, SMALL);
        assert_eq!(outbox.push(notification(100)), Ok(()));
        assert_eq!(outbox.push(notification(100)), Ok(()));
        assert_eq!(outbox.push(notification(100)), Err(SendError::Closed));
        assert_eq!(outbox.send(notification(100)).await, Err(SendError::Closed));
        let (near, mut far) = tokio::io::duplex(10_000);
        writer.run(near).await;
        let mut read = Vec::new();
        far.read_to_end(&mut read).await.unwrap();
        let Ok(RpcMessage::Response(RpcResponse { id: None, outcome: Err(error) })) = RpcMessage::parse(&read) else {
            panic!("expected one close message, got {}", String::from_utf8_lossy(&read));
        };
        assert_eq!(error.code, ErrorObject::TOO_SLOW);
    }

    #[tokio::test(start_paused = true)]
    async fn closing_gives_up_on_an_idle_peer_after_the_grace_period() {
        let (outbox, writer) = Outbox::new(Framing::Lines, SMALL);
        outbox.push(notification(100)).unwrap();
        let (near, _far) = tokio::io::duplex(10);
        let close = async { outbox.close(ErrorObject::internal("enough")) };
        tokio::join!(writer.run(near), close);
    }

    #[tokio::test]
    async fn waiting_senders_continue_when_there_is_room() {
        let (outbox, writer) = Outbox::new(Framing::Lines, SMALL);
        let (near, mut far) = tokio::io::duplex(16);
        let send = async {
            for _ in 0..50 {
                outbox.send(notification(100)).await.unwrap();
            }
            outbox.finish();
        };
        let mut read = Vec::new();
        let ((), (), result) = tokio::join!(send, writer.run(near), far.read_to_end(&mut read));
        result.unwrap();
        assert_eq!(read.iter().filter(|&&byte| byte == b'\n').count(), 50);
    }
}
