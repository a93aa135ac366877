//! Tells hooks of what happens, and hears what they say.

mod command;
mod failure;
mod http;
mod runner;

pub(crate) use failure::HookRunError;
pub use runner::{ClientHookCaller, HookRunner, HookRunnerConfig};
