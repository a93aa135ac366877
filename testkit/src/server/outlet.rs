//! Sends the body of a streamed answer, with its faults.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;

use super::handling::{AnswerDefects, Flood, Garble, StreamCut};
use super::http::stream_head;
use super::{StreamPoint, Unit};

/// Encoded events, each with its blank line.
pub(super) type SseFrames = Vec<Vec<u8>>;

/// The event to malform: every wire format has at least this many.
const MALFORMED: usize = 3;

/// Why a stream stops.
#[derive(Debug)]
pub(super) enum StreamHalt {
    /// It stops before its end.
    Stopped(StreamCut),
    /// The client disconnected.
    Gone,
}

impl StreamHalt {
    /// The connection must be broken.
    pub(super) const CUT: StreamHalt = StreamHalt::Stopped(StreamCut::Cut);
}

impl From<io::Error> for StreamHalt {
    fn from(_: io::Error) -> StreamHalt {
        StreamHalt::Gone
    }
}

/// The body of a streamed answer. Output is buffered until a flush.
#[derive(Debug)]
pub(super) struct StreamBody<'a> {
    to: &'a mut OwnedWriteHalf,
    twist: &'a AnswerDefects,
    /// Encoded bytes: the head and complete chunks.
    ready: Vec<u8>,
    /// The body's bytes since the last chunk.
    chunk: Vec<u8>,
    bytes: usize,
    events: usize,
}

impl<'a> StreamBody<'a> {
    pub(super) fn new(to: &'a mut OwnedWriteHalf, twist: &'a AnswerDefects) -> StreamBody<'a> {
        StreamBody { to, twist, ready: stream_head(), chunk: Vec::new(), bytes: 0, events: 0 }
    }

    /// Adds events; the next flush sends them.
    pub(super) async fn send(&mut self, frames: &mut SseFrames) -> Result<(), StreamHalt> {
        for frame in frames.drain(..) {
            self.stop_at(StreamPoint::Events(self.events))?;
            self.events += 1;
            let frame = self.garbled(frame);
            match self.twist.pace {
                Some((Unit::Byte, every)) => self.drip(frame.chunks(1), every).await?,
                Some((Unit::Event, every)) => self.drip([&*frame], every).await?,
                None => self.put_up_to_stop(&frame)?,
            }
        }
        Ok(())
    }

    /// The number of buffered bytes.
    pub(super) fn gathered(&self) -> usize {
        self.ready.len() + self.chunk.len()
    }

    /// Records that a tool call is complete.
    pub(super) fn called(&self) -> Result<(), StreamHalt> {
        self.stop_at(StreamPoint::Call)
    }

    /// Sends an endless line, if the fault asks for one, until the client disconnects.
    pub(super) async fn flood(&mut self) -> Result<(), StreamHalt> {
        match self.twist.flood {
            None | Some(Flood::Text) => return Ok(()),
            Some(Flood::Line) => self.put(b"data: "),
        }
        loop {
            self.put(&[b'x'; 16 << 10]);
            self.flush().await?;
        }
    }

    /// Sends everything buffered.
    pub(super) async fn flush(&mut self) -> Result<(), StreamHalt> {
        self.close_chunk(0);
        if !self.ready.is_empty() {
            self.to.write_all(&self.ready).await?;
            self.ready.clear();
        }
        Ok(())
    }

    /// Ends the stream properly.
    pub(super) async fn finish(mut self) -> Result<(), StreamHalt> {
        self.close_chunk(0);
        self.ready.extend_from_slice(b"0\r\n\r\n");
        self.flush().await
    }

    /// Breaks the stream off in the middle of a chunk.
    pub(super) async fn cut(mut self) -> Result<(), StreamHalt> {
        self.close_chunk(1000);
        self.flush().await
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.chunk.extend_from_slice(bytes);
    }

    fn put_up_to_stop(&mut self, frame: &[u8]) -> Result<(), StreamHalt> {
        match self.twist.stop {
            Some((StreamPoint::Bytes(most), stop)) if self.bytes + frame.len() >= most => {
                self.put(&frame[..most - self.bytes]);
                Err(StreamHalt::Stopped(stop))
            }
            Some((StreamPoint::Bytes(_) | StreamPoint::Events(_) | StreamPoint::Call, _)) | None => {
                self.put(frame);
                Ok(())
            }
        }
    }

    async fn drip(&mut self, pieces: impl IntoIterator<Item = &[u8]>, every: Duration) -> Result<(), StreamHalt> {
        for piece in pieces {
            // A timer counts in milliseconds and would round zero up to one.
            if !every.is_zero() {
                tokio::time::sleep(every).await;
            }
            self.put(piece);
            self.flush().await?;
        }
        Ok(())
    }

    /// Closes the current chunk, declaring `missing` more bytes than it has.
    fn close_chunk(&mut self, missing: usize) {
        if self.chunk.is_empty() && missing == 0 {
            return;
        }
        self.ready.extend_from_slice(format!("{:x}\r\n", self.chunk.len() + missing).as_bytes());
        self.ready.append(&mut self.chunk);
        if missing == 0 {
            self.ready.extend_from_slice(b"\r\n");
        }
    }

    fn stop_at(&self, here: StreamPoint) -> Result<(), StreamHalt> {
        match self.twist.stop {
            Some((point, stop)) if point == here => Err(StreamHalt::Stopped(stop)),
            Some(_) | None => Ok(()),
        }
    }

    fn garbled(&self, mut frame: Vec<u8>) -> Vec<u8> {
        match self.twist.garble.filter(|_| self.events == MALFORMED) {
            None => {}
            // Without its blank line.
            Some(Garble::Sse) => frame.truncate(frame.len() - 1),
            // Without the last character of its data.
            Some(Garble::Json) => {
                frame.truncate(frame.len() - 3);
                frame.extend_from_slice(b"\n\n");
            }
        }
        frame
    }
}
