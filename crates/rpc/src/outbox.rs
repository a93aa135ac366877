//! What waits to be written to one peer. It is bounded in bytes: a sender either waits for room of its own
//! accord, or the peer is closed for reading too slowly. Nobody else ever waits for a peer.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{ErrorObject, Framing, RpcMessage, RpcResponse};

/// How many bytes of messages that wait are written at once.
const TOGETHER: usize = 64 * 1024;

/// How much one connection may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Most bytes of one message, in either direction.
    pub frame: u32,
    /// Most bytes that wait to be written; never less than a frame.
    pub queue: u32,
    /// How long a closing connection may take to write what is left.
    pub grace: Duration,
}

impl ConnectionLimits {
    /// Limits for processes of one machine.
    pub const LOCAL: ConnectionLimits =
        ConnectionLimits { frame: 8 << 20, queue: 16 << 20, grace: Duration::from_secs(2) };
}

/// Why a message was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The connection is closed, or was just closed since the peer reads too slowly.
    #[error("the connection is closed")]
    Closed,
    /// No frame holds the message.
    #[error("the message is larger than {max} bytes")]
    TooLarge {
        /// What a frame holds.
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
    /// A frame and the room it takes until it is written.
    Frame(Arc<[u8]>, OwnedSemaphorePermit),
    End,
}

impl Outbox {
    /// A queue, and the writer that empties it.
    pub(crate) fn new(framing: Framing, limits: ConnectionLimits) -> (Outbox, OutboxWriter) {
        let limits = ConnectionLimits { queue: limits.queue.max(limits.frame), ..limits };
        let (queue, items) = mpsc::unbounded_channel();
        let shared = Arc::new(OutboxState {
            framing,
            limits,
            capacity: Arc::new(Semaphore::new(limits.queue as usize)),
            closed: CancellationToken::new(),
            close_reason: OnceLock::new(),
        });
        (Outbox { queue, shared: Arc::clone(&shared) }, OutboxWriter { items, shared })
    }

    /// Queues a message at once; a peer without room for it is closed.
    pub fn push(&self, message: RpcMessage) -> Result<(), SendError> {
        let (json, size) = self.encode(message)?;
        match Arc::clone(&self.shared.capacity).try_acquire_many_owned(size) {
            Ok(room) => self.enqueue(json, room),
            Err(_) => {
                self.close(too_slow(self.shared.limits.queue));
                Err(SendError::Closed)
            }
        }
    }

    /// Queues a message as soon as there is room for it.
    pub async fn send(&self, message: RpcMessage) -> Result<(), SendError> {
        let (json, size) = self.encode(message)?;
        let room = Arc::clone(&self.shared.capacity).acquire_many_owned(size);
        match self.shared.closed.run_until_cancelled(room).await {
            Some(Ok(room)) => self.enqueue(json, room),
            Some(Err(_)) | None => Err(SendError::Closed),
        }
    }

    /// Queues a frame that others share, as soon as there is room for it.
    pub(crate) async fn send_shared(&self, frame: Arc<[u8]>) -> Result<(), SendError> {
        let max = self.shared.limits.frame;
        let size = u32::try_from(frame.len()).ok().filter(|size| *size <= max).ok_or(SendError::TooLarge { max })?;
        let room = Arc::clone(&self.shared.capacity).acquire_many_owned(size);
        match self.shared.closed.run_until_cancelled(room).await {
            Some(Ok(room)) => self.queue.send(OutboxItem::Frame(frame, room)).map_err(|_| SendError::Closed),
            Some(Err(_)) | None => Err(SendError::Closed),
        }
    }

    /// A message as a frame of this connection.
    pub(crate) fn wrap(&self, json: Vec<u8>) -> Arc<[u8]> {
        self.shared.framing.wrap(json).into()
    }

    /// Closes the connection: what waits is dropped, and the peer is told why if it still reads.
    pub fn close(&self, why: ErrorObject) {
        // The first reason is the true one.
        self.shared.close_reason.set(why).ok();
        self.shared.closed.cancel();
    }

    /// Ends the stream after everything queued so far.
    pub(crate) fn finish(&self) {
        // Without a writer the stream has ended already.
        self.queue.send(OutboxItem::End).ok();
    }

    /// Ends when the connection is closed from either side.
    pub async fn closed(&self) {
        self.shared.closed.cancelled().await;
    }

    fn encode(&self, message: RpcMessage) -> Result<(Vec<u8>, u32), SendError> {
        let json = message.into_json();
        let max = self.shared.limits.frame;
        match u32::try_from(json.len()) {
            Ok(size) if size <= max => Ok((json, size)),
            Ok(_) | Err(_) => Err(SendError::TooLarge { max }),
        }
    }

    fn enqueue(&self, json: Vec<u8>, room: OwnedSemaphorePermit) -> Result<(), SendError> {
        let frame = self.shared.framing.wrap(json);
        self.queue.send(OutboxItem::Frame(frame.into(), room)).map_err(|_| SendError::Closed)
    }
}

fn too_slow(queue: u32) -> ErrorObject {
    let advice = "connect again and go on after the last sequence number you have";
    ErrorObject::new(ErrorObject::TOO_SLOW, format!("more than {queue} bytes wait to be read: {advice}"))
}

/// Writes what an outbox holds. The connection owns the task that runs it.
#[derive(Debug)]
pub(crate) struct OutboxWriter {
    items: mpsc::UnboundedReceiver<OutboxItem>,
    shared: Arc<OutboxState>,
}

impl OutboxWriter {
    /// Writes until the queue is finished or closed, or the peer is gone.
    pub(crate) async fn run(mut self, output: impl AsyncWrite + Unpin) {
        let shared = Arc::clone(&self.shared);
        let patience = async {
            shared.closed.cancelled().await;
            tokio::time::sleep(shared.limits.grace).await;
        };
        tokio::select! {
            // A write that fails means that the peer is gone: the reading side sees the same.
            _ = self.write(output) => {}
            () = patience => {}
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
            let Some(OutboxItem::Frame(frame, room)) = item else { break };
            if self.items.is_empty() {
                output.write_all(&frame).await?;
                output.flush().await?;
                continue;
            }
            // What waits together is written together.
            let (mut together, mut rooms, mut is_over) = (frame.to_vec(), vec![room], false);
            while together.len() < TOGETHER
                && !is_over
                && let Ok(item) = self.items.try_recv()
            {
                match item {
                    OutboxItem::Frame(frame, room) => {
                        together.extend_from_slice(&frame);
                        rooms.push(room);
                    }
                    OutboxItem::End => is_over = true,
                }
            }
            output.write_all(&together).await?;
            output.flush().await?;
            if is_over {
                break;
            }
        }
        if let Some(error) = self.shared.close_reason.get() {
            let farewell = RpcMessage::Response(RpcResponse { id: None, outcome: Err(error.clone()) });
            output.write_all(&self.shared.framing.wrap(farewell.into_json())).await?;
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

    const SMALL: ConnectionLimits = ConnectionLimits { frame: 200, queue: 300, grace: Duration::from_secs(1) };

    fn note(size: usize) -> RpcMessage {
        RpcMessage::Notification(RpcNotification { method: "x".repeat(size), params: Value::Null })
    }

    #[tokio::test]
    async fn a_message_larger_than_a_frame_is_refused_and_harms_nobody() {
        let (outbox, _writer) = Outbox::new(Framing::Lines, SMALL);
        assert_eq!(outbox.push(note(400)), Err(SendError::TooLarge { max: 200 }));
        assert_eq!(outbox.send(note(400)).await, Err(SendError::TooLarge { max: 200 }));
        assert_eq!(outbox.push(note(1)), Ok(()));
    }

    #[tokio::test]
    async fn what_waits_together_is_written_at_once_up_to_the_end() {
        let (outbox, writer) = Outbox::new(Framing::Lines, SMALL);
        (0..3).for_each(|n| outbox.push(note(n + 1)).unwrap());
        outbox.finish();
        let together: Vec<u8> = (0..3).flat_map(|n| Framing::Lines.wrap(note(n + 1).into_json())).collect();
        let mut writes = Writes::default();
        writer.run(&mut writes).await;
        assert_eq!(writes.0, [together]);
    }

    /// What was written, each time.
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
    async fn overflow_drops_the_queue_and_says_why() {
        let (outbox, writer) = Outbox::new(Framing::Lines, SMALL);
        assert_eq!(outbox.push(note(100)), Ok(()));
        assert_eq!(outbox.push(note(100)), Ok(()));
        assert_eq!(outbox.push(note(100)), Err(SendError::Closed));
        assert_eq!(outbox.send(note(100)).await, Err(SendError::Closed));
        let (near, mut far) = tokio::io::duplex(10_000);
        writer.run(near).await;
        let mut read = Vec::new();
        far.read_to_end(&mut read).await.unwrap();
        let Ok(RpcMessage::Response(RpcResponse { id: None, outcome: Err(error) })) = RpcMessage::parse(&read) else {
            panic!("one farewell, not {}", String::from_utf8_lossy(&read));
        };
        assert_eq!(error.code, ErrorObject::TOO_SLOW);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_peer_that_does_not_read_is_left_after_the_grace() {
        let (outbox, writer) = Outbox::new(Framing::Lines, SMALL);
        outbox.push(note(100)).unwrap();
        let (near, _far) = tokio::io::duplex(10);
        let close = async { outbox.close(ErrorObject::internal("enough")) };
        tokio::join!(writer.run(near), close);
    }

    #[tokio::test]
    async fn a_sender_that_waits_goes_on_when_there_is_room() {
        let (outbox, writer) = Outbox::new(Framing::Lines, SMALL);
        let (near, mut far) = tokio::io::duplex(16);
        let send = async {
            for _ in 0..50 {
                outbox.send(note(100)).await.unwrap();
            }
            outbox.finish();
        };
        let mut read = Vec::new();
        let ((), (), result) = tokio::join!(send, writer.run(near), far.read_to_end(&mut read));
        result.unwrap();
        assert_eq!(read.iter().filter(|&&byte| byte == b'\n').count(), 50);
    }
}
