//! An open list.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use host::Home;
use protocol::{ItemId, ItemStatus, ListItem, SessionId, TaskId, Timestamp};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::change::require_existing;
use super::edit::ListTransaction;
use super::rows::{ItemBody, ItemRow, ListRows};
use super::{ExpectedVersion, ItemChange, ListError, NewItem};
use crate::error::sqlite_error;
use crate::session::open_current;
use crate::{SessionIndex, StoreError, backup};

/// An open list, on its own connection.
#[derive(Debug)]
pub struct ItemList {
    path: PathBuf,
    key: String,
    conn: Connection,
    /// The home that holds the backup, for a list that outlives sessions.
    backup: Option<Home>,
}

/// A query for items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemQuery {
    /// Only items with this status; all that are not deleted when absent.
    pub status: Option<ItemStatus>,
    /// Only items of this owner.
    pub owner: Option<String>,
    /// Whether to include archived items.
    pub archived: bool,
    /// Only items after this one.
    pub after: Option<ItemId>,
    /// Maximum number of items.
    pub limit: u32,
}

impl Default for ItemQuery {
    fn default() -> ItemQuery {
        ItemQuery { status: None, owner: None, archived: false, after: None, limit: u32::MAX }
    }
}

/// The items that an operation changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedItems {
    /// The item that the operation was for.
    pub item: ListItem,
    /// Other items that were changed with it.
    pub others: Vec<ListItem>,
}

impl ItemList {
    /// The list of a session, which may or may not have an owner.
    pub fn of_session(home: &Home, id: SessionId) -> Result<ItemList, StoreError> {
        let path = home.session_db(id);
        let conn = open_current(home, id, &path)?;
        Ok(ItemList { path, key: "session".into(), conn, backup: None })
    }

    /// The list of the project with this root folder.
    pub fn of_project(home: &Home, project_root: &str) -> Result<ItemList, StoreError> {
        ItemList::shared(home, format!("project:{project_root}"))
    }

    /// The list of a team.
    pub fn of_team(home: &Home, name: &str) -> Result<ItemList, StoreError> {
        ItemList::shared(home, format!("team:{name}"))
    }

    fn shared(home: &Home, key: String) -> Result<ItemList, StoreError> {
        let conn = SessionIndex::open(home)?.into_connection();
        Ok(ItemList { path: home.index_db(), key, conn, backup: Some(home.clone()) })
    }

    /// One item.
    pub fn get(&self, id: ItemId) -> Result<ListItem, ListError> {
        let item = self.read(|rows| rows.item(id))?;
        item.filter(|item| item.status != ItemStatus::Deleted).ok_or(ListError::Missing(id))
    }

    /// Items in the order in which they were created.
    pub fn items(&self, query: &ItemQuery) -> Result<Vec<ListItem>, ListError> {
        let ItemQuery { status, owner, archived, after, limit } = query;
        let status = status.map(ItemStatus::as_str);
        let condition = "(:status IS NULL AND status <> 'deleted' OR status = :status)
             AND (:owner IS NULL OR json_extract(body, '$.owner') = :owner)
             AND (:archived OR NOT archived) AND id > :after ORDER BY id LIMIT :limit";
        let after = after.map_or(0, |after| after.0);
        self.with_blocks(|rows| {
            rows.select(
                condition,
                &[
                    (":status", &status),
                    (":owner", owner),
                    (":archived", archived),
                    (":after", &after),
                    (":limit", limit),
                ],
            )
        })
    }

    /// The items that a task does or did.
    pub fn of_task(&self, task: TaskId) -> Result<Vec<ListItem>, ListError> {
        let condition = "status <> 'deleted' AND json_extract(body, '$.task') = :task ORDER BY id";
        self.with_blocks(|rows| rows.select(condition, &[(":task", &task.to_string())]))
    }

    /// Reserves an id for an item that may be created later; until then it is not visible.
    pub fn reserve(&self, at: Timestamp) -> Result<ItemId, ListError> {
        self.change(|list| list.insert(ItemStatus::Deleted, ItemBody::default(), at).map(|row| row.id))
    }

    /// Creates an item.
    pub fn create(&self, new: NewItem, at: Timestamp) -> Result<ChangedItems, ListError> {
        self.change(|list| {
            let row = list.insert(ItemStatus::Pending, new.body(), at)?;
            list.validate_row(&row)?;
            list.changed_items(row.id, Vec::new())
        })
    }

    /// Creates the item that an id was reserved for.
    pub fn create_reserved(&self, id: ItemId, new: NewItem, at: Timestamp) -> Result<ChangedItems, ListError> {
        self.change(|list| {
            let reserved = list.find(id)?.filter(|row| row.version == 0).ok_or(ListError::Missing(id))?;
            let row = ItemRow { version: 1, status: ItemStatus::Pending, body: new.body(), updated_at: at, ..reserved };
            list.put(&row)?;
            list.validate_row(&row)?;
            list.changed_items(id, Vec::new())
        })
    }

    /// Releases a reserved id that is not used.
    pub fn release_reserved(&self, id: ItemId) -> Result<(), ListError> {
        self.change(|list| list.forget_reserved(id))
    }

    /// Changes an item, unless its version is not the expected one.
    pub fn update(
        &self,
        id: ItemId,
        seen: ExpectedVersion,
        change: &ItemChange,
        at: Timestamp,
    ) -> Result<ChangedItems, ListError> {
        self.change(|list| list.update(id, seen, change, at))
    }

    /// Returns what a change would do, or why it would be refused.
    pub fn preview_update(
        &self,
        id: ItemId,
        seen: ExpectedVersion,
        change: &ItemChange,
        at: Timestamp,
    ) -> Result<ChangedItems, ListError> {
        self.begin()?.update(id, seen, change, at)
    }

    /// Archives completed items: this one, or all.
    pub fn archive(&self, id: Option<ItemId>, at: Timestamp) -> Result<Vec<ListItem>, ListError> {
        self.change(|list| {
            let rows = match id {
                Some(id) => vec![require_existing(id, list.find(id)?)?],
                None => list
                    .rows()
                    .select("status = 'completed' AND NOT archived", &[])
                    .map_err(sqlite_error(&self.path))?,
            };
            let archive = |row: ItemRow| match row.status {
                ItemStatus::Completed => list.put_next_version(ItemRow { archived: true, ..row }, at),
                ItemStatus::Pending | ItemStatus::InProgress | ItemStatus::Deleted => {
                    Err(ListError::Unfinished(row.id))
                }
            };
            rows.into_iter().map(archive).collect()
        })
    }

    /// Reads a consistent snapshot of the list.
    fn read<T>(&self, query: impl FnOnce(ListRows<'_>) -> rusqlite::Result<T>) -> Result<T, ListError> {
        let run = || {
            let snapshot = Transaction::new_unchecked(&self.conn, TransactionBehavior::Deferred)?;
            query(ListRows { conn: &snapshot, key: &self.key })
        };
        run().map_err(sqlite_error(&self.path)).map_err(|error| self.rebuild_if_damaged(error).into())
    }

    /// Rebuilds the file if the error says that it is damaged, and returns the error. The list must be opened again.
    fn rebuild_if_damaged(&self, error: StoreError) -> StoreError {
        match (&error, &self.backup) {
            (StoreError::Corrupt { .. }, Some(home)) => SessionIndex::rebuild(home).err().unwrap_or(error),
            _ => error,
        }
    }

    fn with_blocks(
        &self,
        select: impl FnOnce(ListRows<'_>) -> rusqlite::Result<Vec<ItemRow>>,
    ) -> Result<Vec<ListItem>, ListError> {
        self.read(|rows| {
            let selected = select(rows)?;
            let mut blocks: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
            for (id, blockers) in rows.blockers_by_item()? {
                blockers.into_iter().for_each(|blocker| blocks.entry(blocker).or_default().push(id));
            }
            Ok(selected
                .into_iter()
                .map(|row| (blocks.remove(&row.id), row))
                .map(|(blocks, row)| row.item(blocks.unwrap_or_default()))
                .collect())
        })
    }

    fn begin(&self) -> Result<ListTransaction<'_>, ListError> {
        let transaction = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate);
        let transaction = transaction.map_err(sqlite_error(&self.path))?;
        Ok(ListTransaction { path: &self.path, key: &self.key, transaction, written: RefCell::default() })
    }

    /// Changes the list in a transaction that takes the write lock at its start; SQLite does not wait for a lock later.
    pub(super) fn change<T>(
        &self,
        edit: impl FnOnce(&ListTransaction<'_>) -> Result<T, ListError>,
    ) -> Result<T, ListError> {
        let repaired = |error| match error {
            ListError::Store(error) => ListError::Store(self.rebuild_if_damaged(error)),
            refused => refused,
        };
        let transaction = self.begin().map_err(repaired)?;
        let edited = edit(&transaction).and_then(|changed| Ok((changed, transaction.backup_lines()?)));
        let (changed, lines) = match edited {
            Ok(edited) => edited,
            Err(error) => {
                drop(transaction);
                return Err(repaired(error));
            }
        };
        transaction.transaction.commit().map_err(sqlite_error(&self.path))?;
        if let Some(home) = self.backup.as_ref().filter(|_| !lines.is_empty()) {
            // The change is already committed. If the backup fails, it gets the item with its next change.
            let _ignored = backup::append(home, &self.conn, &lines);
        }
        Ok(changed)
    }
}
