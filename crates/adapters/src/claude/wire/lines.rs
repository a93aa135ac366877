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

/// Reads JSON lines from a client. Dropping the future of `next` loses no input.
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
            let chunk = self.input.fill_buf().await?;
            let at_end = chunk.is_empty();
            let (used, is_complete) = match chunk.iter().position(|byte| *byte == b'\n') {
                Some(index) => (index + 1, true),
                None => (chunk.len(), at_end),
            };
            if self.partial.len() + used > LINE_MAX + 1 {
                return Err(WireError::TooLong);
            }
            self.partial.extend_from_slice(&chunk[..used]);
            self.input.consume(used);
            if !is_complete {
                continue;
            }
            let line = std::mem::take(&mut self.partial);
            if !line.trim_ascii().is_empty() {
                let frame = rpc::read_json(&line).map_err(WireError::Malformed)?;
                return Ok(Some((frame, line.len())));
            }
            if at_end {
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
    async fn last_line_needs_no_line_break() {
        let mut lines = JsonLineReader::new(&b"\n  \r\n{\"a\":1}\r\n{\"b\":2}"[..]);
        assert_eq!(lines.next().await.unwrap().unwrap().0, json!({ "a": 1 }));
        assert_eq!(lines.next().await.unwrap().unwrap().0, json!({ "b": 2 }));
        assert!(lines.next().await.unwrap().is_none());
        assert!(lines.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn invalid_json_and_long_lines_are_errors() {
        assert!(matches!(JsonLineReader::new(&b"hello\n"[..]).next().await, Err(WireError::Malformed(_))));
        let long = vec![b'['; LINE_MAX + 2];
        assert!(matches!(JsonLineReader::new(&long[..]).next().await, Err(WireError::TooLong)));
        let deep = [vec![b'['; 100_000], vec![b'\n']].concat();
        assert!(matches!(JsonLineReader::new(&deep[..]).next().await, Err(WireError::Malformed(_))));
    }
}
