//! Asking servers on loopback, good ones and bad ones.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod asking;
mod events;
mod fetching;
mod secure;
mod server;
mod waiting;
