//! Stands in front of every provider: who may ask now, and who waits.
//!
//! Everybody on the machine who uses one account and model shares a bucket in `bosun.db`. One thread per session owns
//! the connection to it, so that nobody else waits for the disk: it turns whatever was asked and told meanwhile into
//! one change. The thread starts with the first request to a governed model.

mod day;
mod dice;
mod door;
mod keeper;
mod lane;
mod permit;
mod process;
mod shelf;
#[cfg(test)]
mod tests;

pub(crate) use day::{DayShare, NoShare};
pub(crate) use door::{Admission, Governor};
pub(crate) use permit::{Permit, Verdict};
