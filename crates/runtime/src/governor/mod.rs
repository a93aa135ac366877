//! The gate in front of every provider: decides which model requests may start and which wait.
//!
//! All sessions of a home that use the same account and model share a bucket in `bosun.db`. One thread per session owns
//! the connection to it, so that no run waits for the disk; it combines all messages that arrive meanwhile into one
//! change. The thread starts with the first request to a governed model.

mod admission;
mod bucket_queue;
mod bucket_store;
mod day_budget;
mod jitter;
mod permit;
mod process;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use admission::{Governor, RequestAdmission};
pub(crate) use day_budget::{DayShare, DayShareError};
pub(crate) use permit::{ModelPermit, PermitOutcome};
