//! Fleets in sessions of this process, with scripted models: plans, work, merging, limits and further owners.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ends;
mod entry_points;
mod limits;
mod merging;
mod owners;
mod plans;
mod support;
mod work;
