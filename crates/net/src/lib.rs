//! Outbound connections: the only crate that opens any, to servers that the user configured and to pages that a call
//! may fetch.
//!
//! An [`HttpClient`] sends a request along a [`NetworkRoute`] and returns an [`HttpResponse`] whose body arrives piece
//! by piece, each within the client's [`HttpTimeouts`]. [`sse`] reads a body that is a stream of events. [`fetch`]
//! fetches web pages.

#![deny(missing_docs)]

mod carrier;
mod client;
mod error;
pub mod fetch;
mod gate;
mod header;
mod proxy;
mod response;
mod route;
mod secret;
pub mod sse;
mod tls;
mod wait;

pub use carrier::{CarriedAnswer, CarriedAnswerFuture, CarriedRequest, RequestCarrier};
pub use client::{HttpClient, PostRequest};
pub use error::{ConnectProblem, NetError};
pub use gate::lookup_host;
pub use header::RequestHeader;
pub use response::HttpResponse;
pub use route::{HttpTimeouts, NetworkRoute};
pub use secret::Secret;
