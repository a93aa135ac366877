//! Framing of messages on a byte stream. A frame never grows past its limit, no matter what the peer sends.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// How messages are separated on a byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One message per line.
    Lines,
    /// A `Content-Length` header before each message.
    ContentLength,
}

impl Framing {
    /// Wraps a message, which is a single line, in a frame.
    pub fn wrap(self, mut message: Vec<u8>) -> Vec<u8> {
        match self {
            Framing::Lines => {
                message.push(b'\n');
                message
            }
            Framing::ContentLength => {
                [format!("Content-Length: {}\r\n\r\n", message.len()).into_bytes(), message].concat()
            }
        }
    }
}

/// Why no more frames can be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The peer sends more than a frame may hold.
    #[error("a frame is larger than {max} bytes: send smaller messages")]
    TooLarge {
        /// The maximum size of a frame in bytes.
        max: usize,
    },
    /// The header does not contain the frame's length.
    #[error("invalid frame header: {0}")]
    Header(&'static str),
    /// The stream ended inside a frame.
    #[error("the stream ended inside a frame")]
    Truncated,
    /// Reading from the stream failed.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
}

/// Reads frames from a byte stream.
#[derive(Debug)]
pub(crate) struct FrameReader<R> {
    input: R,
    framing: Framing,
    max: usize,
    buffer: Vec<u8>,
    /// Where the current frame starts in `buffer`.
    start: usize,
    /// How much of the current frame is known to contain no line end.
    scanned: usize,
}

/// How many bytes are reserved for each read.
const READ_BYTES: usize = 8 * 1024;

/// A header is a few short lines; anything longer is not a header.
const MAX_HEADER_BYTES: usize = 1024;

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(input: R, framing: Framing, max: usize) -> FrameReader<R> {
        FrameReader { input, framing, max, buffer: Vec::new(), start: 0, scanned: 0 }
    }

    /// Returns the next frame's content, or `None` at the end of the stream. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        loop {
            if let Some(frame) = self.parse_frame()? {
                return Ok(Some(frame));
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            self.buffer.reserve(READ_BYTES);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                return if self.buffer.trim_ascii().is_empty() { Ok(None) } else { Err(FrameError::Truncated) };
            }
        }
    }

    fn parse_frame(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        match self.framing {
            Framing::Lines => self.parse_line(),
            Framing::ContentLength => self.parse_counted(),
        }
    }

    fn parse_line(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        loop {
            let rest = &self.buffer[self.start..];
            let Some(end) = rest[self.scanned..].iter().position(|&byte| byte == b'\n') else {
                self.scanned = rest.len();
                // The carriage return of a line end whose newline has not arrived yet is not part of the line.
                let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
                return if rest.len() > self.max { Err(FrameError::TooLarge { max: self.max }) } else { Ok(None) };
            };
            let line = rest[..self.scanned + end].trim_ascii();
            if line.len() > self.max {
                return Err(FrameError::TooLarge { max: self.max });
            }
            let line = line.to_vec();
            self.start += self.scanned + end + 1;
            self.scanned = 0;
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
    }

    fn parse_counted(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let rest = &self.buffer[self.start..];
        let Some(end) = rest.windows(4).take(MAX_HEADER_BYTES).position(|bytes| bytes == b"\r\n\r\n") else {
            return if rest.len() > MAX_HEADER_BYTES { Err(FrameError::Header("it has no end")) } else { Ok(None) };
        };
        let length = content_length(&rest[..end])?;
        if length > self.max {
            return Err(FrameError::TooLarge { max: self.max });
        }
        let Some(content) = rest.get(end + 4..end + 4 + length) else { return Ok(None) };
        let content = content.to_vec();
        self.start += end + 4 + length;
        Ok(Some(content))
    }
}

fn content_length(header: &[u8]) -> Result<usize, FrameError> {
    let header = std::str::from_utf8(header).map_err(|_| FrameError::Header("it is not text"))?;
    let mut length = None;
    for line in header.split("\r\n") {
        // The first line of an HTTP request is not a field: a web page in a browser can send a request to any port.
        let field = line.split_once(':').filter(|(name, _)| is_header_name(name));
        let (name, value) = field.ok_or(FrameError::Header("one of its lines is not a field"))?;
        if name.eq_ignore_ascii_case("content-length") {
            length = length.or(Some(value));
        }
    }
    let length = length.ok_or(FrameError::Header("it has no Content-Length"))?;
    length.trim().parse().map_err(|_| FrameError::Header("its Content-Length is not a number"))
}

fn is_header_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `bytes` in pieces of `piece` bytes and reads to the end.
    async fn read(framing: Framing, bytes: &[u8], piece: usize) -> (Vec<Vec<u8>>, Option<FrameError>) {
        let (mut writer, reader) = tokio::io::duplex(piece);
        let feed = async move {
            // The reader may hang up first, on purpose.
            tokio::io::AsyncWriteExt::write_all(&mut writer, bytes).await.ok();
        };
        let receive = async move {
            let mut frames = FrameReader::new(reader, framing, 64);
            let mut received = Vec::new();
            loop {
                match frames.next().await {
                    Ok(Some(frame)) => received.push(frame),
                    Ok(None) => return (received, None),
                    Err(error) => return (received, Some(error)),
                }
            }
        };
        tokio::join!(feed, receive).1
    }

    const FRAMINGS: [Framing; 2] = [Framing::Lines, Framing::ContentLength];

    #[tokio::test]
    async fn frames_are_read_in_chunks_of_any_size() {
        let messages: Vec<Vec<u8>> = (1..60).map(|n| vec![b'x'; n]).collect();
        for framing in FRAMINGS {
            let stream: Vec<u8> = messages.iter().flat_map(|message| framing.wrap(message.clone())).collect();
            for piece in [1, 2, 3, 7, 64, 10_000] {
                let (taken, error) = read(framing, &stream, piece).await;
                assert!(error.is_none() && taken == messages, "{framing:?} in pieces of {piece}");
            }
        }
    }

    #[tokio::test]
    async fn size_limit_is_exact() {
        for framing in FRAMINGS {
            let (taken, error) = read(framing, &framing.wrap(vec![b'x'; 64]), 16).await;
            assert!(error.is_none() && taken == [vec![b'x'; 64]]);
            let (taken, error) = read(framing, &framing.wrap(vec![b'x'; 65]), 16).await;
            assert!(taken.is_empty() && matches!(error, Some(FrameError::TooLarge { max: 64 })), "{error:?}");
        }
        let whole = [&[b'x'; 64][..], b"\r\n"].concat();
        for piece in [1, 65, 66] {
            let (taken, error) = read(Framing::Lines, &whole, piece).await;
            assert!(error.is_none() && taken == [vec![b'x'; 64]], "in pieces of {piece}: {error:?}");
        }
    }

    #[tokio::test]
    async fn endless_frames_are_refused_before_they_are_buffered() {
        let (_, error) = read(Framing::Lines, &vec![b'x'; 1 << 20], 4096).await;
        assert!(matches!(error, Some(FrameError::TooLarge { .. })));
        let (_, error) = read(Framing::ContentLength, &vec![b'x'; 1 << 20], 4096).await;
        assert!(matches!(error, Some(FrameError::Header(_))));
        let (_, error) = read(Framing::ContentLength, b"Content-Length: 99999999999\r\n\r\n", 4096).await;
        assert!(matches!(error, Some(FrameError::TooLarge { .. })));
    }

    #[tokio::test]
    async fn a_stream_that_ends_inside_a_frame_is_truncated() {
        for framing in FRAMINGS {
            let whole = framing.wrap(b"{\"a\":1}".to_vec());
            for end in 1..whole.len() {
                let (taken, error) = read(framing, &whole[..end], 64).await;
                assert!(taken.is_empty() && matches!(error, Some(FrameError::Truncated)), "{framing:?} at {end}");
            }
        }
    }

    #[tokio::test]
    async fn empty_lines_and_carriage_returns_are_ignored() {
        let (taken, error) = read(Framing::Lines, b"\n\r\n{}\r\n \n{}\n\n", 3).await;
        assert!(error.is_none());
        assert_eq!(taken, [b"{}", b"{}"]);
    }

    #[tokio::test]
    async fn headers_need_a_length_and_may_have_other_fields() {
        let (taken, _) = read(Framing::ContentLength, b"X: y\r\ncontent-length:2\r\n\r\n{}", 64).await;
        assert_eq!(taken, [b"{}"]);
        let wrong = [
            "X: y\r\n\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: two\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
            "POST /a:b HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        ];
        for wrong in wrong {
            let (_, error) = read(Framing::ContentLength, wrong.as_bytes(), 64).await;
            assert!(matches!(error, Some(FrameError::Header(_))), "{wrong}");
        }
    }
}
