//! Limits on what clients may use, so that one client cannot starve the others.

use std::time::Duration;

/// Limits on what clients may use.
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// How many connections that have sent the token may be open at once.
    pub connections: usize,
    /// How many connections without the token may be open in addition; the oldest gives way to the next.
    pub unauthenticated: usize,
    /// How long a connection may take to send the token.
    pub admission_time: Duration,
    /// How many connections may be event streams.
    pub streams: usize,
    /// How many sessions may run in this server at once.
    pub sessions: usize,
    /// Maximum bytes of a request's headers.
    pub max_head_bytes: usize,
    /// How long a client may take to send headers, counted from its connection or the last response.
    pub head_time: Duration,
    /// Maximum bytes of a request's body.
    pub max_body_bytes: usize,
    /// How long a client may take to send a body.
    pub body_time: Duration,
    /// How long a session may take to answer.
    pub answer_time: Duration,
    /// How long a client may read nothing of what is written to it.
    pub write_time: Duration,
    /// How often an idle stream sends a keep-alive.
    pub keep_alive: Duration,
    /// How long connections and sessions have to end when the server stops.
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
            max_head_bytes: 32 << 10,
            head_time: Duration::from_secs(15),
            max_body_bytes: 8 << 20,
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(120),
            write_time: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            grace: Duration::from_secs(10),
        }
    }
}
