//! The models as their callers see them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod conditions;
mod conversation;
mod document;
mod hostile;
mod lenient;
mod misbehaviour;
mod mistakes;
mod opening;
mod recording;
mod remote;
