//! What can go wrong with one answer.

use std::time::Duration;

/// One way in which a provider fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderFault {
    /// Takes the request and never says a byte.
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
    /// A quota is used up for so long.
    Quota(Duration),
    /// A page of HTML from something in between.
    Html,
    /// The conversation is longer than the model takes.
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
        /// How long before each.
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
