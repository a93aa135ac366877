//! Lists as text for a repository: one item per line, with sorted keys, so that a change of an item changes only its
//! line.

use protocol::{ItemId, ItemStatus, ListItem, Timestamp};

use super::blockers::find_cycle;
use super::edit::ListTransaction;
use super::limits;
use super::list::ItemList;
use super::rows::ItemRow;
use super::{ItemQuery, ListError};

/// Most bytes of a file.
const FILE: usize = 64 * 1024 * 1024;

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemImportReport {
    /// Items that were new.
    pub created: Vec<ItemId>,
    /// Items that were older here.
    pub changed: Vec<ItemId>,
    /// Items that were the same or newer here, and stay.
    pub unchanged: Vec<ItemId>,
    /// Items that both sides have changed, and that stay as they are.
    pub conflicts: Vec<ItemId>,
}

/// Formats items as JSON Lines.
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

/// Parses items from JSON Lines.
pub fn from_jsonl(text: &str) -> Result<Vec<ListItem>, ListError> {
    if text.len() > FILE {
        return Err(ListError::Invalid(format!("the file has {} bytes, and at most {FILE} can be read", text.len())));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            serde_json::from_str(line).map_err(|error| ListError::Invalid(format!("line {}: {error}", n + 1)))
        })
        .collect()
}

impl ItemList {
    /// All items that are not deleted.
    pub fn export(&self) -> Result<Vec<ListItem>, ListError> {
        self.items(&ItemQuery { archived: true, ..ItemQuery::default() })
    }

    /// Imports items, all or none. An existing item is replaced only by a later version of it.
    pub fn import(&self, items: Vec<ListItem>, at: Timestamp) -> Result<ItemImportReport, ListError> {
        self.change(|list| {
            let mut imported = ItemImportReport::default();
            for item in items {
                list.import_item(item.into(), at, &mut imported)?;
            }
            list.validate_imported(&imported)?;
            Ok(imported)
        })
    }
}

impl ListTransaction<'_> {
    fn import_item(&self, row: ItemRow, at: Timestamp, imported: &mut ItemImportReport) -> Result<(), ListError> {
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

    /// Refuses a list in which items wait for missing items or for themselves.
    fn validate_imported(&self, imported: &ItemImportReport) -> Result<(), ListError> {
        let written = || imported.created.iter().chain(&imported.changed).copied();
        if self.try_rows(|rows| rows.count())? > limits::ITEMS {
            return Err(ListError::Invalid(format!("a list holds at most {} items", limits::ITEMS)));
        }
        let edges = self.try_rows(|rows| rows.edges())?;
        for id in written().flat_map(|id| edges.get(&id).into_iter().flatten()) {
            super::change::require_existing(*id, self.find(*id)?)?;
        }
        find_cycle(&edges, written()).map_or(Ok(()), |path| Err(ListError::Cycle(path)))
    }
}

fn is_same(ours: &ItemRow, theirs: &ItemRow) -> bool {
    (&ours.body, ours.status, ours.archived) == (&theirs.body, theirs.status, theirs.archived)
}
