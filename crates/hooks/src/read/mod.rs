//! Reads hooks as they are written in the files of both families, flat or nested.
//!
//! Nothing is dropped without a word: what cannot be used is a [`HookProblem`](crate::Problem) with its place, and does not
//! keep the rest from being read.

mod action;
mod entry;
mod file;
mod file_reader;
mod position;

pub use file::{HookFileLocation, disables_all, read, read_value};
