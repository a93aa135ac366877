//! Where settings come from: the environment, the user's file and the flags, in that order of strength.
//!
//! Nothing below the edge can name this crate. It fills the settings that the other crates declare.

#![deny(missing_docs)]

mod env;
mod file;

pub use env::{Env, FAULT};
pub use file::{Config, ConfigError, File};
