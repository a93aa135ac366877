//! Asking servers on loopback, good ones and bad ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod asking;
mod events;
mod secure;
mod server;
mod waiting;
