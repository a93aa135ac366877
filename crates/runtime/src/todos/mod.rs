//! Todos that somebody changed reach the kernel, whoever it was: an agent by SQL, a person from another terminal, or a
//! process that died before it could tell.

mod edit;
mod sync;

pub use edit::TodoEditError;
pub(crate) use sync::{TodoSync, TodoSyncError, TodoSyncHandle};
