//! Providers: their settings, the built-in ones, and the result of both.

mod access;
mod address;
mod built_in;
mod client_provider;
mod default;
mod error;
mod file;

pub use access::ModelAccess;
pub use default::{ChoosableProvider, DefaultModel};
pub use error::ProviderError;
pub use file::{ModelFile, ProviderFile};

pub(crate) use access::{ProviderSources, check_providers, open_access, relocated, secrets};
pub(crate) use client_provider::checked_provider;
