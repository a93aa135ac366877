//! Outbound connections: the only crate that opens any, to servers that the user configured and to pages that a call
//! may fetch.
//!
//! A [`Client`] sends a request along a [`Route`] and hands back an [`Answer`] whose body arrives piece by piece, each
//! within the client's [`HttpTimeouts`]. [`sse`] reads a body that is a stream of events.
//! [`fetch`] gets pages of the web.

#![deny(missing_docs)]

mod client;
mod error;
pub mod fetch;
mod header;
mod proxy;
mod response;
mod route;
mod secret;
pub mod sse;
mod tls;
mod wait;

pub use client::{HttpClient, PostRequest};
pub use error::{ConnectProblem, NetError};
pub use header::RequestHeader;
pub use response::HttpResponse;
pub use route::{HttpTimeouts, NetworkRoute};
pub use secret::Secret;
