//! Where settings come from: the environment, the user's file and the flags, in that order of strength.
//!
//! Nothing below the edge can name this crate. It fills the settings that the other crates declare.

#![deny(missing_docs)]

mod amount;
mod env;
mod file;
mod provider;
mod time;

pub use amount::{Usd, parse_usd};
pub use env::{Env, FAULT, MANAGED};
pub use file::{Config, ConfigError, File};
pub use provider::{Access, ModelFile, ProviderError, ProviderFile};
pub use time::{Time, parse_time};
