//! Outbound connections: the only crate that opens any, and only to addresses that the user configured.

#![deny(missing_docs)]

mod route;
mod secret;

pub use route::{Patience, Route};
pub use secret::Secret;
