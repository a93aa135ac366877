//! A model server for tests: three wires over HTTP on loopback, answered by a script, with every fault a provider has.
//!
//! It checks requests as strictly as the strictest provider does, remembers each of them, and counts what it reported.
//! It runs on a thread of its own, so that tests with and without a runtime can use it, and is gone when it is dropped.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answer;
mod bucket;
mod connection;
mod course;
mod fault;
mod http;
mod ledger;
mod listing;
mod outlet;
mod plan;
mod serve;
mod setup;
mod span;
mod trouble;
mod wire;

pub use bucket::Hint;
pub use fault::{ProviderFault, StreamPoint, Unit};
pub use ledger::RecordedRequest;
pub use plan::{FaultPlan, PlanError};
pub use serve::ModelServer;
pub use setup::{RequestRetention, ServerSetup};
pub use span::span;
