//! Failures of hooks.

use std::time::Duration;

/// How a hook failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HookRunError {
    #[error("it could not be started: {0}")]
    Start(String),
    #[error("it took longer than {} s; raise its timeout, or make it faster", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("it ended with {status}{}", words(.said))]
    Status { status: String, said: String },
    #[error("it wrote more than {0} bytes; it should write one JSON object")]
    TooMuchOutput(usize),
    #[error("its output is not a valid answer: {0}")]
    Json(String),
    #[error("its program {0} has changed since it was trusted; review it, then run `bosun trust`")]
    Program(String),
    #[error("{0}")]
    Net(String),
    #[error("the session's client did not answer: {0}")]
    Client(String),
}

fn words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(", saying: {said}") }
}
