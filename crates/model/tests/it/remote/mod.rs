//! Models at a provider, which is a small server on loopback.

mod answers;
mod carried;
mod faults;
mod prefixes;
mod requests;
mod roundtrips;
mod server;
mod windows;
