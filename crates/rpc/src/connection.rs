//! A connection to one peer: a stream of incoming messages, a bounded queue of outgoing ones, and its writer task.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

use crate::frame::FrameReader;
use crate::{ConnectionLimits, FrameError, Framing, MalformedMessage, Outbox, RpcMessage};

/// What a peer sent: a message, or a frame without a valid one.
pub type IncomingMessage = Result<RpcMessage, MalformedMessage>;

/// A connection to one peer. Dropping it stops its writer and closes the stream.
#[derive(Debug)]
pub struct Connection<R> {
    frames: FrameReader<R>,
    outbox: Outbox,
    writer: JoinSet<()>,
    limits: ConnectionLimits,
}

impl<R: AsyncRead + Unpin> Connection<R> {
    /// Creates a connection on the two halves of a byte stream.
    pub fn new<W>(input: R, output: W, framing: Framing, limits: ConnectionLimits) -> Connection<R>
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (outbox, queue) = Outbox::new(framing, limits);
        let mut writer = JoinSet::new();
        writer.spawn(queue.run(output));
        Connection { frames: FrameReader::new(input, framing, limits.max_frame_bytes as usize), outbox, writer, limits }
    }

    /// The sending side.
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Returns the next message, or `None` when either side has closed. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<IncomingMessage>, FrameError> {
        let frame = tokio::select! {
            // Read the peer's last messages before reporting that it is gone.
            biased;
            frame = self.frames.next() => frame?,
            () = self.outbox.closed() => None,
        };
        Ok(frame.map(|bytes| RpcMessage::parse(&bytes)))
    }

    /// Writes the rest of the queue, as far as the peer reads it within the grace period, and closes the stream.
    pub async fn close(mut self) {
        self.outbox.finish();
        // After the grace period the writer is dropped with the connection.
        tokio::time::timeout(self.limits.grace, self.writer.join_next()).await.ok();
    }
}
