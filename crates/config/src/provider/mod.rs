//! Providers: what the user's file says of them, which are built in, and what comes of both.

mod access;
mod address;
mod bring;
mod built_in;
mod default;
mod error;
mod file;

pub use access::Access;
pub use default::{Choosable, DefaultModel};
pub use error::ProviderError;
pub use file::{ModelFile, ProviderFile};

pub(crate) use access::{Sources, check, moved, open, secrets};
