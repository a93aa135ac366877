//! Shared lists of agents and people: a session's list in its own file, project and team lists in `bosun.db`.
//!
//! Each change is one transaction that takes the write lock at its start, and names the item version that it was made
//! for: if the item has changed since, the change is refused, and the error holds the current item. A list needs no
//! owner, so many processes may write to it.

mod blockers;
mod change;
mod edit;
mod error;
mod jsonl;
mod limits;
mod list;
mod recovery;
mod rows;

pub(crate) use recovery::{every_item, recover_lists, restore_item};

pub use change::{ExpectedVersion, ItemChange, NewItem};
pub use error::ListError;
pub use jsonl::{ItemImportReport, from_jsonl, to_jsonl};
pub use list::{ChangedItems, ItemList, ItemQuery};
