//! Lists as text that a repository can keep: one item a line, keys in order, so that a change of an item is a change of
//! its line.

use protocol::{ItemId, ItemStatus, ListItem, Timestamp};

use super::blockers::circle;
use super::edit::ListTransaction;
use super::limits;
use super::list::ItemList;
use super::rows::ItemRow;
use super::{ItemQuery, ListError};

/// Most bytes of a file.
const FILE: usize = 64 * 1024 * 1024;

/// What became of the items of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemImportReport {
    /// Those that were not there.
    pub created: Vec<ItemId>,
    /// Those that were older.
    pub changed: Vec<ItemId>,
    /// Those that were the same, or newer, and stay.
    pub unchanged: Vec<ItemId>,
    /// Those that both sides have changed, and that stay as they are.
    pub conflicts: Vec<ItemId>,
}

/// The items as lines.
pub fn to_jsonl(items: &[ListItem]) -> Result<String, ListError> {
    let mut text = String::new();
    for item in items {
        let value = serde_json::to_value(item).map(|mut value| {
            value.sort_all_objects();
            value
        });
        let line = value.and_then(|value| serde_json::to_string(&value));
        text.push_str(&line.map_err(|error| ListError::Invalid(format!("item {}: {error}", item.id)))?);
        text.push('\n');
    }
    Ok(text)
}

/// The items of such lines.
pub fn from_jsonl(text: &str) -> Result<Vec<ListItem>, ListError> {
    if text.len() > FILE {
        return Err(ListError::Invalid(format!("the file has {} bytes, and at most {FILE} are read", text.len())));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            serde_json::from_str(line).map_err(|error| ListError::Invalid(format!("line {}: {error}", n + 1)))
        })
        .collect()
}

impl ItemList {
    /// Everything that is not deleted.
    pub fn export(&self) -> Result<Vec<ListItem>, ListError> {
        self.items(&ItemQuery { archived: true, ..ItemQuery::default() })
    }

    /// Takes items in, all or none. One that is here already is replaced by a later version of it only.
    pub fn import(&self, items: Vec<ListItem>, at: Timestamp) -> Result<ItemImportReport, ListError> {
        self.change(|list| {
            let mut imported = ItemImportReport::default();
            for item in items {
                list.take_in(item.into(), at, &mut imported)?;
            }
            list.settle_all(&imported)?;
            Ok(imported)
        })
    }
}

impl ListTransaction<'_> {
    fn take_in(&self, row: ItemRow, at: Timestamp, imported: &mut ItemImportReport) -> Result<(), ListError> {
        let id = row.id;
        if id.0 == 0 || row.version == 0 || row.status == ItemStatus::Deleted {
            return Err(ListError::Invalid(format!("item {id} has no id, no version, or is deleted")));
        }
        limits::check(&row.body)?;
        let row = ItemRow { updated_at: row.updated_at.min(at), ..row };
        match self.find(id)? {
            None => {
                self.put(&row)?;
                imported.created.push(id);
            }
            Some(ours) if ours.version < row.version => {
                self.put(&row)?;
                imported.changed.push(id);
            }
            Some(ours) if ours.version > row.version || is_same(&ours, &row) => imported.unchanged.push(id),
            Some(_) => imported.conflicts.push(id),
        }
        Ok(())
    }

    /// Refuses a list in which items wait for what is not there, or for themselves.
    fn settle_all(&self, imported: &ItemImportReport) -> Result<(), ListError> {
        let written = || imported.created.iter().chain(&imported.changed).copied();
        if self.try_rows(|rows| rows.count())? > limits::ITEMS {
            return Err(ListError::Invalid(format!("a list holds at most {} items", limits::ITEMS)));
        }
        let edges = self.try_rows(|rows| rows.edges())?;
        for id in written().flat_map(|id| edges.get(&id).into_iter().flatten()) {
            super::change::require_existing(*id, self.find(*id)?)?;
        }
        circle(&edges, written()).map_or(Ok(()), |path| Err(ListError::Cycle(path)))
    }
}

fn is_same(ours: &ItemRow, theirs: &ItemRow) -> bool {
    (&ours.body, ours.status, ours.archived) == (&theirs.body, theirs.status, theirs.archived)
}
