//! Requests to well-behaved and to faulty servers on loopback.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod asking;
mod events;
mod fetching;
mod secure;
mod server;
mod waiting;
