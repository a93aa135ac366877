//! A model server for tests: three wire formats over HTTP on loopback, a script that answers, and every kind of fault.
//!
//! It checks requests as strictly as the strictest provider, records each of them, and counts the usage it reported. It
//! runs on its own thread, so that tests with and without a runtime can use it, and stops when dropped.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answer;
mod bucket;
mod connection;
mod fault;
mod handling;
mod http;
mod ledger;
mod listing;
mod outlet;
mod plan;
mod refusal;
mod serve;
mod setup;
mod span;
mod wire;

pub use bucket::Hint;
pub use fault::{ProviderFault, StreamPoint, Unit};
pub use ledger::RecordedRequest;
pub use plan::{FaultPlan, PlanError};
pub use serve::ModelServer;
pub use setup::{RequestRetention, ServerSetup};
pub use span::span;
