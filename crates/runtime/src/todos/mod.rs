//! Reports changes of todos to the kernel: by an agent through SQL, by the user from another terminal, or by a process
//! that died before it could report them.

mod edit;
mod sync;

pub use edit::TodoEditError;
pub use sync::TodoSyncError;
pub(crate) use sync::{TodoSync, TodoSyncHandle};
