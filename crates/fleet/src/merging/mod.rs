//! Merges the work of a fleet's workers into one tree.
//!
//! A worker starts from the work of its todo's dependencies, joined in dependency order. When all todos are done, a
//! queue merges their work in that order in a temporary checkout, with a check after each merge. The user's branch
//! moves at the very end, if requested and if all checks pass. The log records each merge, and the same work in the
//! same order gives the same commits, so a new owner process continues where the last one stopped.

mod cleanup;
mod deliver;
mod error;
mod fleet_work;
mod join;
mod merge_queue;
mod merge_session;
mod merger;
mod order;
mod resolver_agent;

pub(crate) use error::MergeError;
pub(crate) use merger::FleetMerger;
