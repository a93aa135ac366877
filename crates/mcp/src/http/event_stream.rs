//! A stream of events that can be resumed where it was interrupted.

use std::time::Duration;

use net::HttpResponse;
use net::sse::SseDecoder;
use serde_json::Value;

use crate::TransportError;
use crate::message::{self, UnusableMessage};

/// How long to wait before a stream is opened again if the server does not say.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);

/// The longest wait, whatever the server says.
const MAX_RETRY: Duration = Duration::from_secs(60 * 60);

/// Where a stream was interrupted, and when to continue it.
#[derive(Debug, Default)]
pub(super) struct StreamPosition {
    /// The last event, from which the server can continue.
    pub(super) last_id: Option<String>,
    retry: Option<Duration>,
    /// How often in a row the stream ended without an event.
    pub(super) failures: u32,
}

impl StreamPosition {
    /// How long to wait before the stream is opened again.
    pub(super) fn delay(&self) -> Duration {
        self.retry.unwrap_or(DEFAULT_RETRY).min(MAX_RETRY)
    }

    /// Reads the messages of a response until `take` returns something; `None` if the stream ended before.
    pub(super) async fn read<T>(
        &mut self,
        mut response: HttpResponse,
        redact: impl Fn(String) -> String,
        mut take: impl FnMut(Value) -> Option<T>,
    ) -> Result<Option<T>, TransportError> {
        let mut events = SseDecoder::default();
        self.failures += 1;
        loop {
            let bytes = match response.chunk().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(None),
                // A server that can continue the stream is asked to.
                Err(error) if self.last_id.is_some() => {
                    tracing::debug!(%error, "a stream of an MCP server was interrupted");
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            };
            let read = events.push(&bytes).map_err(|error| TransportError::Failed(error.to_string()))?;
            self.last_id = events.last_id().map(str::to_owned).or(self.last_id.take());
            self.retry = events.retry().or(self.retry);
            for event in read {
                self.failures = 0;
                // The first event of a stream has only an id.
                if event.data.is_empty() {
                    continue;
                }
                match message::parse(redact(event.data).as_bytes()) {
                    Ok(message) => {
                        if let Some(taken) = take(message) {
                            return Ok(Some(taken));
                        }
                    }
                    Err(UnusableMessage::NotJson(_)) => {
                        tracing::debug!("an MCP server sent an event that is not a message");
                    }
                    Err(unusable) => return Err(unusable.to_string().into()),
                }
            }
        }
    }
}
