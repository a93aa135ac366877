//! What a client may take of the adapter, so that none can take it from the others.

use std::time::Duration;

/// What a client may take of the adapter.
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// How many connections there may be at once that have shown the token.
    pub connections: usize,
    /// How many there may be besides that have not; the oldest of them makes room for the next.
    pub unauthenticated: usize,
    /// How long a connection may take to show the token.
    pub admission_time: Duration,
    /// How many of them may be streams of events.
    pub streams: usize,
    /// How many sessions may run here at once.
    pub sessions: usize,
    /// Most bytes of a request's head.
    pub head: usize,
    /// How long a client may take to send a head, from its connection or its last answer on.
    pub head_time: Duration,
    /// Most bytes of a request's body.
    pub body: usize,
    /// How long a client may take to send a body.
    pub body_time: Duration,
    /// How long a session may take to answer.
    pub answer_time: Duration,
    /// How long a client may take nothing of what is written to it.
    pub write_time: Duration,
    /// How often a stream on which nothing happens says that it lives.
    pub keep_alive: Duration,
    /// How long everybody has to come to an end.
    pub grace: Duration,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            connections: 256,
            unauthenticated: 64,
            admission_time: Duration::from_secs(5),
            streams: 128,
            sessions: 64,
            head: 32 << 10,
            head_time: Duration::from_secs(15),
            body: 8 << 20,
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(120),
            write_time: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            grace: Duration::from_secs(10),
        }
    }
}
