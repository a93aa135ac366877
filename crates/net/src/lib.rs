//! Outbound connections: the only crate that opens any, to servers that the user configured and to pages that a call
//! may fetch.
//!
//! A [`Client`] sends a request along a [`Route`] and hands back an [`Answer`] whose body arrives piece by piece, each
//! within the client's [`Patience`]. [`sse`] reads a body that is a stream of events.
//! [`fetch`] gets pages of the web.

#![deny(missing_docs)]

mod answer;
mod client;
mod error;
pub mod fetch;
mod header;
mod proxy;
mod route;
mod secret;
pub mod sse;
mod tls;
mod wait;

pub use answer::Answer;
pub use client::{Client, Post};
pub use error::{NetError, Problem};
pub use header::Header;
pub use route::{Patience, Route};
pub use secret::Secret;
