//! Faults of an answer.

use std::time::Duration;

/// One way in which a provider fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderFault {
    /// Accepts the request and never sends a byte.
    Hang,
    /// Closes the connection without a byte.
    Close,
    /// Answers with this status, and with `Retry-After` if it names a time.
    Status {
        /// The status.
        code: u16,
        /// When to try again.
        retry_after: Option<Duration>,
    },
    /// A quota is exhausted for this long.
    Quota(Duration),
    /// A page of HTML, as from a proxy.
    Html,
    /// The conversation is longer than the model allows.
    TooLong,
    /// The connection breaks there.
    Cut(StreamPoint),
    /// The stream ends there as if it were complete.
    End(StreamPoint),
    /// Two events run into one.
    BadSse,
    /// An event whose JSON has no end.
    BadJson,
    /// Another model answers.
    Model(String),
    /// The answer comes this slowly.
    Drip {
        /// How much comes at a time.
        unit: Unit,
        /// The delay before each.
        every: Duration,
    },
    /// The answer's text has no end.
    Endless,
    /// A line of the stream has no end.
    EndlessLine,
}

/// A place in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamPoint {
    /// After so many bytes of its body.
    Bytes(usize),
    /// After so many events.
    Events(usize),
    /// Right after the first tool call.
    Call,
}

/// How much comes at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// One byte.
    Byte,
    /// One event.
    Event,
}
