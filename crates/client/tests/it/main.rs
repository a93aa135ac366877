//! Clients of sessions that run, rest, and change their owner meanwhile.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod delivery;
mod events;
mod home;

/// A model that answers at once.
const SAYS_DONE: &str = "version: 1\nabout: For a test\nrules:\n  - answer: [say: done]\n";
