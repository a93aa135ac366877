//! Runs hooks on events, and collects their answers.

mod command;
mod failure;
mod http;
mod runner;

pub(crate) use failure::HookRunError;
pub use runner::{ClientHookCaller, HookRunner, HookRunnerConfig};
