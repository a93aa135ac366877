//! Lists that agents and people share: that of a session in its own file, those of projects and teams in `bosun.db`.
//!
//! Each change is one transaction that waits for its turn at the start, and names the version that it was made for: an
//! older one is refused with the item as it is. A list needs no owner, so any number of processes may write to it.

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
