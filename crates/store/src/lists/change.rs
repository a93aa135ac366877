//! New items, and changes of items.

use protocol::{ItemId, ItemStatus, TaskId};
use serde_json::{Map, Value};

use super::rows::{ItemBody, ItemRow};
use super::{ListError, limits};

/// A new item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewItem {
    /// What is to be done, in one line.
    pub subject: String,
    /// Details for the agent or person who does it.
    pub description: String,
    /// What to show while it is in progress.
    pub active_form: Option<String>,
    /// Who does it.
    pub owner: Option<String>,
    /// The items that it waits for.
    pub blocked_by: Vec<ItemId>,
    /// Additional data.
    pub metadata: Map<String, Value>,
    /// Who wrote it.
    pub author: String,
}

impl NewItem {
    /// Refuses an item that is not valid.
    pub fn check(&self) -> Result<(), ListError> {
        limits::check(&self.clone().body())
    }

    pub(super) fn body(self) -> ItemBody {
        let NewItem { subject, description, active_form, owner, mut blocked_by, metadata, author } = self;
        blocked_by.sort_unstable();
        blocked_by.dedup();
        ItemBody { subject, description, active_form, owner, blocked_by, metadata, task: None, author }
    }
}

/// A change of an item; absent fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemChange {
    /// What is to be done, in one line.
    pub subject: Option<String>,
    /// Details for the agent or person who does it.
    pub description: Option<String>,
    /// What to show while it is in progress.
    pub active_form: Option<String>,
    /// Its status.
    pub status: Option<ItemStatus>,
    /// Who does it; an empty text removes the owner.
    pub owner: Option<String>,
    /// More items that wait for it.
    pub add_blocks: Vec<ItemId>,
    /// More items that it waits for.
    pub add_blocked_by: Vec<ItemId>,
    /// Items that it no longer waits for.
    pub remove_blocked_by: Vec<ItemId>,
    /// Fields of the metadata; `null` removes one.
    pub metadata: Map<String, Value>,
    /// The task that does it.
    pub task: Option<TaskId>,
    /// Who made the change.
    pub author: String,
}

/// Which version of an item a change was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// This version: the change is refused if the item has another version.
    Version(u64),
    /// Any version: the last write of each field is kept.
    Any,
}

impl ExpectedVersion {
    /// Refuses a change that was made for another version; the error is that version.
    pub(super) fn check(self, version: u64) -> Result<(), u64> {
        match self {
            ExpectedVersion::Version(expected) if expected != version => Err(expected),
            ExpectedVersion::Version(_) | ExpectedVersion::Any => Ok(()),
        }
    }
}

impl ItemChange {
    /// Returns the row after the change, still with the old version.
    pub(super) fn apply(&self, row: &ItemRow) -> ItemRow {
        let mut after = row.clone();
        let body = &mut after.body;
        let mut text_changed = false;
        let mut set = |field: &mut String, to: &Option<String>| {
            if let Some(to) = to.as_ref().filter(|to| *to != field) {
                field.clone_from(to);
                text_changed = true;
            }
        };
        set(&mut body.subject, &self.subject);
        set(&mut body.description, &self.description);
        text_changed |= set_or_clear(&mut body.active_form, self.active_form.as_deref());
        text_changed |= set_or_clear(&mut body.owner, self.owner.as_deref());
        text_changed |= merge_metadata(&mut body.metadata, &self.metadata);
        if text_changed {
            body.author.clone_from(&self.author);
        }
        body.blocked_by.extend(&self.add_blocked_by);
        body.blocked_by.sort_unstable();
        body.blocked_by.dedup();
        body.blocked_by.retain(|id| !self.remove_blocked_by.contains(id));
        body.task = self.task.or(body.task);
        if let Some(status) = self.status {
            after.archived &= status == ItemStatus::Completed;
            after.status = status;
        }
        after
    }
}

fn set_or_clear(field: &mut Option<String>, to: Option<&str>) -> bool {
    let Some(to) = to else { return false };
    let to = Some(to.to_owned()).filter(|text| !text.is_empty());
    let differs = *field != to;
    *field = to;
    differs
}

fn merge_metadata(metadata: &mut Map<String, Value>, change: &Map<String, Value>) -> bool {
    let before = metadata.clone();
    for (name, value) in change {
        match value {
            Value::Null => drop(metadata.remove(name)),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                metadata.insert(name.clone(), value.clone());
            }
        }
    }
    *metadata != before
}

/// Refuses an item that is missing or deleted.
pub(super) fn require_existing(id: ItemId, row: Option<ItemRow>) -> Result<ItemRow, ListError> {
    row.filter(|row| row.status != ItemStatus::Deleted).ok_or(ListError::Missing(id))
}
