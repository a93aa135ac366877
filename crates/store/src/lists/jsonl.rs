//! Lists as text that a repository can keep: one item a line, keys in order, so that a change of an item is a change of
//! its line.

use protocol::{At, Item, ItemId, ItemStatus};

use super::blockers::circle;
use super::edit::Change;
use super::limits;
use super::list::List;
use super::rows::ItemRow;
use super::{ItemsWanted, ListError};

/// Most bytes of a file.
const FILE: usize = 64 * 1024 * 1024;

/// What became of the items of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Those that were not there.
    pub made: Vec<ItemId>,
    /// Those that were older.
    pub changed: Vec<ItemId>,
    /// Those that were the same, or newer, and stay.
    pub kept: Vec<ItemId>,
    /// Those that both sides have changed, and that stay as they are.
    pub conflicts: Vec<ItemId>,
}

/// The items as lines.
pub fn to_jsonl(items: &[Item]) -> Result<String, ListError> {
    let mut text = String::new();
    for item in items {
        let value = serde_json::to_value(item).map(|mut value| {
            value.sort_all_objects();
            value
        });
        let line = value.and_then(|value| serde_json::to_string(&value));
        text.push_str(&line.map_err(|error| ListError::Unfit(format!("item {}: {error}", item.id)))?);
        text.push('\n');
    }
    Ok(text)
}

/// The items of such lines.
pub fn from_jsonl(text: &str) -> Result<Vec<Item>, ListError> {
    if text.len() > FILE {
        return Err(ListError::Unfit(format!("the file has {} bytes, and at most {FILE} are read", text.len())));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            serde_json::from_str(line).map_err(|error| ListError::Unfit(format!("line {}: {error}", n + 1)))
        })
        .collect()
}

impl List {
    /// Everything that is not deleted.
    pub fn export(&self) -> Result<Vec<Item>, ListError> {
        self.items(&ItemsWanted { archived: true, ..ItemsWanted::default() })
    }

    /// Takes items in, all or none. One that is here already is replaced by a later version of it only.
    pub fn import(&self, items: Vec<Item>, at: At) -> Result<Imported, ListError> {
        self.change(|list| {
            let mut imported = Imported::default();
            for item in items {
                list.take_in(item.into(), at, &mut imported)?;
            }
            list.settle_all(&imported)?;
            Ok(imported)
        })
    }
}

impl Change<'_> {
    fn take_in(&self, row: ItemRow, at: At, imported: &mut Imported) -> Result<(), ListError> {
        let id = row.id;
        if id.0 == 0 || row.version == 0 || row.status == ItemStatus::Deleted {
            return Err(ListError::Unfit(format!("item {id} has no id, no version, or is deleted")));
        }
        limits::check(&row.body)?;
        let row = ItemRow { updated_at: row.updated_at.min(at), ..row };
        match self.find(id)? {
            None => {
                self.put(&row)?;
                imported.made.push(id);
            }
            Some(ours) if ours.version < row.version => {
                self.put(&row)?;
                imported.changed.push(id);
            }
            Some(ours) if ours.version > row.version || is_same(&ours, &row) => imported.kept.push(id),
            Some(_) => imported.conflicts.push(id),
        }
        Ok(())
    }

    /// Refuses a list in which items wait for what is not there, or for themselves.
    fn settle_all(&self, imported: &Imported) -> Result<(), ListError> {
        let written = || imported.made.iter().chain(&imported.changed).copied();
        if self.try_rows(|rows| rows.count())? > limits::ITEMS {
            return Err(ListError::Unfit(format!("a list holds at most {} items", limits::ITEMS)));
        }
        let edges = self.try_rows(|rows| rows.edges())?;
        for id in written().flat_map(|id| edges.get(&id).into_iter().flatten()) {
            super::change::living(*id, self.find(*id)?)?;
        }
        circle(&edges, written()).map_or(Ok(()), |path| Err(ListError::Cycle(path)))
    }
}

fn is_same(ours: &ItemRow, theirs: &ItemRow) -> bool {
    (&ours.body, ours.status, ours.archived) == (&theirs.body, theirs.status, theirs.archived)
}
