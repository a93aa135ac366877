//! What the workers of a fleet brought becomes one tree.
//!
//! A worker begins with what the todos above its own brought, joined in the order of the graph. When all are done, a
//! queue merges their work in that order in a throw-away checkout, with a check after each merge. The user's branch moves
//! at the very end, if it was asked for and everything is green. What was merged is in the log, and the same work in the
//! same order gives the same commits, so a new owner goes on where the last one stopped.

mod agent;
mod aide;
mod clear;
mod finish;
mod gather;
mod join;
mod order;
mod seams;
mod session;
mod summary;
mod works;

pub use session::Merging;
pub use summary::{Fit, Fitted, Left, Summary, Taken};
