//! Todos that somebody changed reach the kernel, whoever it was: an agent by SQL, a person from another terminal, or a
//! process that died before it could tell.

mod clerk;
mod edit;

pub(crate) use clerk::{Clerk, Todos, Untaken};
pub use edit::Unedited;
