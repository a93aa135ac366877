//! The body of a streamed answer on its way out, and what goes wrong with it on the way.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;

use super::http::stream_head;
use super::{Fault, Point, Unit};

/// Events in the form of a wire, each with its blank line.
pub(super) type Frames = Vec<Vec<u8>>;

/// The event that is malformed when one is: no wire has fewer.
const MALFORMED: usize = 3;

/// Why no more of a stream is sent.
#[derive(Debug)]
pub(super) enum Halt {
    /// The connection is to be broken.
    Cut,
    /// The stream is to end as if it were complete.
    End,
    /// The client is gone.
    Gone,
}

impl From<io::Error> for Halt {
    fn from(_: io::Error) -> Halt {
        Halt::Gone
    }
}

/// The body of a streamed answer. What is sent at once leaves in one piece.
#[derive(Debug)]
pub(super) struct Outlet<'a> {
    to: &'a mut OwnedWriteHalf,
    fault: Option<&'a Fault>,
    /// Bytes that are written as they are: heads and whole chunks.
    ready: Vec<u8>,
    /// The body's bytes since the last chunk.
    chunk: Vec<u8>,
    bytes: usize,
    events: usize,
}

impl<'a> Outlet<'a> {
    pub(super) fn new(to: &'a mut OwnedWriteHalf, fault: Option<&'a Fault>) -> Outlet<'a> {
        Outlet { to, fault, ready: stream_head(), chunk: Vec::new(), bytes: 0, events: 0 }
    }

    /// Sends events; they leave with the next flush.
    pub(super) async fn send(&mut self, frames: &mut Frames) -> Result<(), Halt> {
        for frame in frames.drain(..) {
            self.stop_at(Point::Events(self.events))?;
            self.events += 1;
            let frame = self.garbled(frame);
            match self.fault {
                Some(Fault::Cut(Point::Bytes(most)) | Fault::End(Point::Bytes(most)))
                    if self.bytes + frame.len() >= *most =>
                {
                    let room = *most - self.bytes;
                    self.put(&frame[..room]);
                    return self.stop_at(Point::Bytes(*most));
                }
                Some(Fault::Drip { unit: Unit::Byte, every }) => self.drip(frame.chunks(1), *every).await?,
                Some(Fault::Drip { unit: Unit::Event, every }) => self.drip([&*frame], *every).await?,
                _ => self.put(&frame),
            }
        }
        Ok(())
    }

    /// How many bytes wait for the next flush.
    pub(super) fn gathered(&self) -> usize {
        self.ready.len() + self.chunk.len()
    }

    /// Says that a tool call is complete.
    pub(super) fn called(&self) -> Result<(), Halt> {
        self.stop_at(Point::Call)
    }

    /// Whether an endless line is to be sent, which [`Outlet::flood`] does.
    pub(super) fn is_flooded(&self) -> bool {
        matches!(self.fault, Some(Fault::EndlessLine))
    }

    /// Sends a line without an end until the client is gone.
    pub(super) async fn flood(&mut self) -> Result<(), Halt> {
        self.put(b"data: ");
        loop {
            self.put(&[b'x'; 16 << 10]);
            self.flush().await?;
        }
    }

    /// Lets everything leave.
    pub(super) async fn flush(&mut self) -> Result<(), Halt> {
        self.close_chunk(0);
        if !self.ready.is_empty() {
            self.to.write_all(&self.ready).await?;
            self.ready.clear();
        }
        Ok(())
    }

    /// Ends the stream in order.
    pub(super) async fn finish(mut self) -> Result<(), Halt> {
        self.close_chunk(0);
        self.ready.extend_from_slice(b"0\r\n\r\n");
        self.flush().await
    }

    /// Breaks the stream off in the middle of a chunk.
    pub(super) async fn cut(mut self) -> Result<(), Halt> {
        self.close_chunk(1000);
        if self.ready.ends_with(b"\r\n") {
            self.ready.extend_from_slice(b"3e8\r\n");
        }
        self.flush().await
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.chunk.extend_from_slice(bytes);
    }

    async fn drip(&mut self, pieces: impl IntoIterator<Item = &[u8]>, every: Duration) -> Result<(), Halt> {
        for piece in pieces {
            tokio::time::sleep(every).await;
            self.put(piece);
            self.flush().await?;
        }
        Ok(())
    }

    /// Makes what was put a chunk, which promises so many bytes more than it has.
    fn close_chunk(&mut self, missing: usize) {
        if self.chunk.is_empty() {
            return;
        }
        self.ready.extend_from_slice(format!("{:x}\r\n", self.chunk.len() + missing).as_bytes());
        self.ready.append(&mut self.chunk);
        if missing == 0 {
            self.ready.extend_from_slice(b"\r\n");
        }
    }

    fn stop_at(&self, here: Point) -> Result<(), Halt> {
        match self.fault {
            Some(Fault::Cut(point)) if *point == here => Err(Halt::Cut),
            Some(Fault::End(point)) if *point == here => Err(Halt::End),
            _ => Ok(()),
        }
    }

    fn garbled(&self, mut frame: Vec<u8>) -> Vec<u8> {
        match self.fault {
            // Without its blank line an event runs into the next.
            Some(Fault::BadSse) if self.events == MALFORMED => frame.truncate(frame.len() - 1),
            Some(Fault::BadJson) if self.events == MALFORMED => {
                frame.truncate(frame.len() - 3);
                frame.extend_from_slice(b"\n\n");
            }
            _ => {}
        }
        frame
    }
}
