//! Stands in front of every provider: who may ask now, and who waits.
//!
//! Everybody on the machine who uses one account and model shares a bucket in `bosun.db`. One thread per session owns
//! the connection to it, so that nobody else waits for the disk: it turns whatever was asked and told meanwhile into
//! one change. The thread starts with the first request to a governed model.

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
