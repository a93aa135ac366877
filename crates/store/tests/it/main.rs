//! Tests of the store's public API.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]

extern crate bosun_store as store;

mod buckets;
mod concurrency;
mod copies;
mod faults;
mod file_history;
mod golden;
mod index;
mod lists;
mod ownership;
mod results;
mod salvage;
mod sql;
mod sql_hostile;
mod support;
mod todo_authors;
mod todos;
mod trust;
mod writing;
