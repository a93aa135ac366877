//! Tests of single decisions of the kernel. Tests with random histories are in `src/histories`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod adopt;
mod asks;
mod buckets;
mod budgets;
mod cancel;
mod endings;
mod fixture;
mod fleets;
mod grace;
mod kinds;
mod limits;
mod mail;
mod mcp_tasks;
mod modes;
mod parked;
mod plans;
mod results;
mod slots;
mod spawns;
mod waits;
