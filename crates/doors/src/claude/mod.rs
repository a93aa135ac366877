//! The door of the Claude SDKs: one JSON object a line on standard input and output. A client sends messages of its user
//! and requests; it gets what the agents say and do, and requests of its own: whether a call may run, what a hook says.

mod agents;
mod args;
mod asks;
mod brought;
mod callbacks;
mod chore;
mod follow;
mod frames;
mod hello;
mod inbox;
mod ledger;
mod lists;
mod mode;
mod opening;
mod orders;
mod prompt;
mod records;
mod requests;
mod rules;
mod scribe;
mod serve;
mod servers;
mod state;
mod structured;
mod talk;
mod tasks;
mod turns;
mod watch;
mod wire;

pub(crate) use rules::rule;
pub use serve::{serve, serve_on};
