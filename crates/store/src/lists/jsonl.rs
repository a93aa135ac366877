//! Lists as text for a repository: one item per line, with sorted keys, so that changing an item changes only one line.

use protocol::{ItemId, ItemStatus, ListItem, Timestamp};

use super::blockers::find_cycle;
use super::edit::ListTransaction;
use super::limits;
use super::list::ItemList;
use super::rows::ItemRow;
use super::{ItemQuery, ListError};

/// Maximum bytes of a file.
const FILE: usize = 64 * 1024 * 1024;

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemImportReport {
    /// Items that the list did not have.
    pub created: Vec<ItemId>,
    /// Items of which the list had an older version.
    pub changed: Vec<ItemId>,
    /// Items of which the list has the same or a newer version.
    pub unchanged: Vec<ItemId>,
    /// Items that were changed both in the file and in the list. The list keeps its version.
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
            let mut report = ItemImportReport::default();
            for item in items {
                list.import_item(item.into(), at, &mut report)?;
            }
            list.validate_imported(&report)?;
            Ok(report)
        })
    }
}

impl ListTransaction<'_> {
    fn import_item(&self, row: ItemRow, at: Timestamp, report: &mut ItemImportReport) -> Result<(), ListError> {
        let id = row.id;
        if id.0 == 0 || row.version == 0 || row.status == ItemStatus::Deleted {
            return Err(ListError::Invalid(format!("item {id} has no id, no version, or is deleted")));
        }
        limits::check(&row.body)?;
        let row = ItemRow { updated_at: row.updated_at.min(at), ..row };
        match self.find(id)? {
            None => {
                self.put(&row)?;
                report.created.push(id);
            }
            Some(existing) if existing.version < row.version => {
                self.put(&row)?;
                report.changed.push(id);
            }
            Some(existing) if existing.version > row.version || is_same(&existing, &row) => report.unchanged.push(id),
            Some(_) => report.conflicts.push(id),
        }
        Ok(())
    }

    /// Refuses a list in which items wait for missing items or for themselves.
    fn validate_imported(&self, report: &ItemImportReport) -> Result<(), ListError> {
        let written = || report.created.iter().chain(&report.changed).copied();
        if self.query(|rows| rows.count())? > limits::ITEMS {
            return Err(ListError::Invalid(format!("a list holds at most {} items", limits::ITEMS)));
        }
        let edges = self.query(|rows| rows.blockers_by_item())?;
        for id in written().flat_map(|id| edges.get(&id).into_iter().flatten()) {
            super::change::require_existing(*id, self.find(*id)?)?;
        }
        find_cycle(&edges, written()).map_or(Ok(()), |path| Err(ListError::Cycle(path)))
    }
}

fn is_same(existing: &ItemRow, imported: &ItemRow) -> bool {
    (&existing.body, existing.status, existing.archived) == (&imported.body, imported.status, imported.archived)
}
