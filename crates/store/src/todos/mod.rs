//! The todos: rows of the model's own table that the runtime also reads, and the log of changes with their authors.
//!
//! A trigger adds the id of each changed row to the log, and the code that runs the model's SQL adds the author. The
//! runtime reads the rows and records them in an event, and the projection of that event removes them from the log.

mod cycle;
mod edit;
mod log;
mod page;
mod plan_guard;
mod project;
mod rows;
mod validation;

pub use edit::{ChangeNumbers, TodoError, edit_own_todos, edit_todos};
pub use log::{TodoAuthor, TodoChanges};
pub(crate) use log::{changes, last_pending, last_recorded, sign};
pub(crate) use page::page;
pub(crate) use plan_guard::find_violation;
pub(crate) use project::project;
pub use rows::TodoRow;
pub(crate) use rows::{all_rows, row};
