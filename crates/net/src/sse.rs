//! Decodes a stream of server-sent events from pieces of any size.

use std::mem;
use std::time::Duration;

use memchr::memchr2;

/// Maximum bytes of one line, and of one event's data.
pub const MAX_BYTES: usize = 16 << 20;

/// Maximum bytes of an event's id; a longer one is ignored, since a header could not carry it.
const MAX_ID_BYTES: usize = 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSentEvent {
    /// Its name; empty when it has none.
    pub name: String,
    /// Its lines of data, joined by line breaks.
    pub data: String,
}

/// A line or an event is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {MAX_BYTES} bytes")]
pub struct EventTooLarge;

/// Decodes bytes into events.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    event: ServerSentEvent,
    /// The id that was read last, of an event that may not be complete.
    read_id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    has_data: bool,
    /// The last byte was a carriage return that ended a line, so a line feed directly after it is ignored.
    after_return: bool,
    past_first_line: bool,
}

impl SseDecoder {
    /// Decodes `bytes` and returns the events that they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<ServerSentEvent>, EventTooLarge> {
        let mut events = Vec::new();
        while let Some(&first) = bytes.first() {
            if mem::take(&mut self.after_return) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.extend_line(bytes)?;
                break;
            };
            self.extend_line(&bytes[..end])?;
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line()?);
        }
        Ok(events)
    }

    /// The id of the last complete event that had one, from which a stream can be resumed.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server asks to wait before its stream is opened again.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Ends the stream. Returns the last event if the empty line that should end it is missing.
    pub fn finish(mut self) -> Result<Option<ServerSentEvent>, EventTooLarge> {
        let last = if self.line.is_empty() { None } else { self.end_line()? };
        Ok(last.or_else(|| self.end_event()))
    }

    fn extend_line(&mut self, more: &[u8]) -> Result<(), EventTooLarge> {
        if self.line.len() + more.len() > MAX_BYTES {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(more);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<ServerSentEvent>, EventTooLarge> {
        let line = mem::take(&mut self.line);
        let mut text = &*String::from_utf8_lossy(&line);
        if !mem::replace(&mut self.past_first_line, true) {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        if text.is_empty() {
            return Ok(self.end_event());
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => self.add_data(value)?,
            "id" if value.len() <= MAX_ID_BYTES && !value.contains('\0') => self.read_id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            // Comments and unknown fields.
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, line: &str) -> Result<(), EventTooLarge> {
        if self.event.data.len() + line.len() >= MAX_BYTES {
            return Err(EventTooLarge);
        }
        if mem::replace(&mut self.has_data, true) {
            self.event.data.push('\n');
        }
        self.event.data.push_str(line);
        Ok(())
    }

    /// Ends the current event and returns it; none if it has no data.
    fn end_event(&mut self) -> Option<ServerSentEvent> {
        if self.read_id.is_some() {
            self.last_id = self.read_id.take().filter(|id| !id.is_empty());
        }
        let event = mem::take(&mut self.event);
        mem::take(&mut self.has_data).then_some(event)
    }
}
