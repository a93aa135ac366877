//! Git, as far as agents need it: checkouts of their own, what they changed in them kept as commits, and those commits
//! merged. The user's repository gets objects and refs under `refs/bosun/`, and nothing else is ever touched in it
//! unless the user asks for the merge.

#![deny(missing_docs)]

mod error;
mod run;

pub use error::GitError;
pub use run::{Git, Said};
