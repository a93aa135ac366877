//! What the workers of a fleet brought becomes one tree.
//!
//! A worker begins with what the todos above its own brought, joined in the order of the graph. When all are done, a
//! queue merges their work in that order in a throw-away checkout, with a check after each merge. The user's branch moves
//! at the very end, if it was asked for and everything is green. What was merged is in the log, and the same work in the
//! same order gives the same commits, so a new owner goes on where the last one stopped.

mod cleanup;
mod deliver;
mod fleet_traits;
mod fleet_work;
mod join;
mod merge_queue;
mod merge_session;
mod merger;
mod order;
mod resolver_agent;
mod summary;

pub use merger::FleetMerger;
pub use summary::{LeftoverCheckout, MergeDestination, MergeSummary, TodoMergeOutcome, TodoMergeResult};
