//! Reads hooks from Copilot's and Claude's files, flat or nested.
//!
//! Nothing is dropped silently: what cannot be used is a [`HookProblem`](crate::HookProblem) with its position, and the
//! rest is still read.

mod action;
mod entry;
mod file;
mod file_reader;
mod position;

pub use file::{HookFileLocation, disables_all, read, read_value};
