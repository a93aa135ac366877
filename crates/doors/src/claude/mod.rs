//! The door of the Claude SDKs: one JSON object a line on standard input and output. A client sends messages of its user
//! and requests; it gets what the agents say and do, and requests of its own: whether a call may run, what a hook says.

mod inbox;
mod serve;
pub mod wire;

pub use serve::{serve, serve_on};
