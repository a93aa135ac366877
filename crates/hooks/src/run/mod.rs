//! Tells hooks of what happens, and hears what they say.

mod command;
mod failure;
mod http;
mod runner;

pub(crate) use failure::Failure;
pub use runner::{Driver, Runner, Ways};
