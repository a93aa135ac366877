//! A run in another process, which asks its session over a byte stream.
//!
//! The run gets its task, its workplace and its catalogue as data, and everything else with requests, as any run does. It
//! opens no database and decides nothing about tasks. Each side has one task of its own that reads, so neither waits for
//! the other to read. The session answers only for the run that it has started: when the stream ends, the run is over,
//! and what it had not reported never happened.

mod connection;
mod process;
mod remote_session;
mod served_run;
#[cfg(test)]
mod tests;
mod wire;

pub use process::{RUN_ARGUMENT, run_process_main};

pub(crate) use process::RunProcess;
pub(crate) use served_run::{RunLoss, ServedRun};
