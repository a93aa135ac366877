//! Errors of list operations.

use protocol::{ItemId, ListItem, format_item_cycle};

use crate::StoreError;

/// Why a list operation failed. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The file failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such item.
    #[error("Task not found: {0}")]
    Missing(ItemId),
    /// The item has changed since.
    #[error("item {} was changed in the meantime: it has version {}, and the change was made for version {seen}", .fresh.id, .fresh.version)]
    Stale {
        /// The version that the change was made for.
        seen: u64,
        /// The item as it is now.
        fresh: Box<ListItem>,
    },
    /// Items that it waits for are not done.
    #[error("item {id} is blocked by {}, which must be completed first", ids(.by))]
    Blocked {
        /// The item.
        id: ItemId,
        /// The items that are not done.
        by: Vec<ItemId>,
    },
    /// Items would wait for themselves.
    #[error("items would wait for themselves: {}", format_item_cycle(.0))]
    Cycle(Vec<ItemId>),
    /// Only completed items can be archived.
    #[error("item {0} is not completed, and only completed items can be archived")]
    Unfinished(ItemId),
    /// It is not valid.
    #[error("{0}")]
    Invalid(String),
}

fn ids(ids: &[ItemId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
