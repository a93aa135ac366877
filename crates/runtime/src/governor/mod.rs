//! The gate in front of every provider: decides which model requests may start and which wait.
//!
//! All sessions of a home that use the same account and model share a bucket in `bosun.db`. One thread per session owns
//! the connection to that database, so that no run waits for the disk. The thread takes all messages that arrived while
//! it was busy and writes each bucket once for all of them. It starts when it is first needed: for a request to a model
//! that has a bucket, or for the daily budget.

mod admission;
mod bucket_queue;
mod bucket_store;
mod day_budget;
mod gate;
mod jitter;
mod overview;
mod permit;
mod process;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use admission::{Governor, RequestAdmission};
pub(crate) use day_budget::{DayBudgetError, DayBudgetReservation};
pub use overview::{ClosedModel, SpentToday, closed_models, reopen_models};
pub(crate) use permit::{ModelPermit, PermitOutcome};
