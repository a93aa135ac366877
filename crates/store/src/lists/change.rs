//! What a new item says, and what a change of one does to it.

use protocol::{ItemId, ItemStatus, TaskId};
use serde_json::{Map, Value};

use super::rows::{ItemBody, ItemRow};
use super::{ListError, limits};

/// What a new item says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewItem {
    /// What is to be done, in one line.
    pub subject: String,
    /// What whoever does it must know.
    pub description: String,
    /// What somebody is doing while it is done.
    pub active_form: Option<String>,
    /// Who does it.
    pub owner: Option<String>,
    /// The items that it waits for.
    pub blocked_by: Vec<ItemId>,
    /// Whatever else is said of it.
    pub metadata: Map<String, Value>,
    /// Whose words these are.
    pub author: String,
}

impl NewItem {
    /// Refuses what could not be kept.
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

/// What becomes of an item; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemChange {
    /// What is to be done, in one line.
    pub subject: Option<String>,
    /// What whoever does it must know.
    pub description: Option<String>,
    /// What somebody is doing while it is done.
    pub active_form: Option<String>,
    /// How far it is.
    pub status: Option<ItemStatus>,
    /// Who does it; nobody when empty.
    pub owner: Option<String>,
    /// More items that wait for it.
    pub add_blocks: Vec<ItemId>,
    /// More items that it waits for.
    pub add_blocked_by: Vec<ItemId>,
    /// Items that it waits for no more.
    pub unblock: Vec<ItemId>,
    /// Fields of the metadata; `null` removes one.
    pub metadata: Map<String, Value>,
    /// The task that does it.
    pub task: Option<TaskId>,
    /// Whose words the change holds.
    pub author: String,
}

/// Which version of an item a change was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// This one: a change of any other is refused.
    Version(u64),
    /// Whichever it is: the last word on a field counts.
    Any,
}

impl ExpectedVersion {
    /// Refuses a change that was made for another version.
    pub(super) fn check(self, version: u64) -> Result<(), u64> {
        match self {
            ExpectedVersion::Version(seen) if seen != version => Err(seen),
            ExpectedVersion::Version(_) | ExpectedVersion::Any => Ok(()),
        }
    }
}

impl ItemChange {
    /// The row after the change. Its version is still the old one.
    pub(super) fn apply(&self, row: &ItemRow) -> ItemRow {
        let mut after = row.clone();
        let body = &mut after.body;
        let mut words = false;
        let mut set = |field: &mut String, to: &Option<String>| {
            if let Some(to) = to.as_ref().filter(|to| *to != field) {
                field.clone_from(to);
                words = true;
            }
        };
        set(&mut body.subject, &self.subject);
        set(&mut body.description, &self.description);
        words |= set_or_clear(&mut body.active_form, self.active_form.as_deref());
        words |= set_or_clear(&mut body.owner, self.owner.as_deref());
        words |= merge(&mut body.metadata, &self.metadata);
        if words {
            body.author.clone_from(&self.author);
        }
        body.blocked_by.extend(&self.add_blocked_by);
        body.blocked_by.sort_unstable();
        body.blocked_by.dedup();
        body.blocked_by.retain(|id| !self.unblock.contains(id));
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

fn merge(metadata: &mut Map<String, Value>, change: &Map<String, Value>) -> bool {
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

/// Refuses to bring back what was deleted.
pub(super) fn require_existing(id: ItemId, row: Option<ItemRow>) -> Result<ItemRow, ListError> {
    row.filter(|row| row.status != ItemStatus::Deleted).ok_or(ListError::Missing(id))
}
