//! Reads JSON lines.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Maximum bytes of a client's line: a message with ten large images fits.
pub(in crate::claude) const LINE_MAX: usize = 32 * 1024 * 1024;

/// Why reading from a client ended.
#[derive(Debug, thiserror::Error)]
pub(in crate::claude) enum WireError {
    /// A line is too long.
    #[error("a line is longer than {LINE_MAX} bytes: send images as files, or in several messages")]
    TooLong,
    /// A line is not JSON.
    #[error("a line is not JSON: {0}")]
    Malformed(#[source] serde_json::Error),
    /// The operating system refused.
    #[error("cannot read from the client: {0}")]
    Io(#[from] io::Error),
}

/// Reads JSON lines from a client. Dropping a read loses nothing of the next.
#[derive(Debug)]
pub(in crate::claude) struct JsonLineReader<R> {
    input: R,
    partial: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> JsonLineReader<R> {
    /// Creates a reader.
    pub(in crate::claude) fn new(input: R) -> JsonLineReader<R> {
        JsonLineReader { input, partial: Vec::new() }
    }

    /// Returns the next frame and its size in bytes; `None` at the end. Empty lines are skipped, and the last line
    /// needs no line break.
    pub(in crate::claude) async fn next(&mut self) -> Result<Option<(Value, usize)>, WireError> {
        loop {
            let piece = self.input.fill_buf().await?;
            let is_over = piece.is_empty();
            let (taken, is_whole) = match piece.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (piece.len(), is_over),
            };
            if self.partial.len() + taken > LINE_MAX + 1 {
                return Err(WireError::TooLong);
            }
            self.partial.extend_from_slice(&piece[..taken]);
            self.input.consume(taken);
            if !is_whole {
                continue;
            }
            let line = std::mem::take(&mut self.partial);
            if !line.trim_ascii().is_empty() {
                let frame = rpc::read_json(&line).map_err(WireError::Malformed)?;
                return Ok(Some((frame, line.len())));
            }
            if is_over {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn frames_are_lines_and_the_last_needs_no_break() {
        let mut lines = JsonLineReader::new(&b"\n  \r\n{\"a\":1}\r\n{\"b\":2}"[..]);
        assert_eq!(lines.next().await.unwrap().unwrap().0, json!({ "a": 1 }));
        assert_eq!(lines.next().await.unwrap().unwrap().0, json!({ "b": 2 }));
        assert!(lines.next().await.unwrap().is_none());
        assert!(lines.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_is_no_json_and_what_is_too_long_is_an_error() {
        assert!(matches!(JsonLineReader::new(&b"hello\n"[..]).next().await, Err(WireError::Malformed(_))));
        let long = vec![b'['; LINE_MAX + 2];
        assert!(matches!(JsonLineReader::new(&long[..]).next().await, Err(WireError::TooLong)));
        let deep = [vec![b'['; 100_000], vec![b'\n']].concat();
        assert!(matches!(JsonLineReader::new(&deep[..]).next().await, Err(WireError::Malformed(_))));
    }
}
