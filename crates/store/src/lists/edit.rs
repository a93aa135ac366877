//! A transaction on a list.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use protocol::{ItemId, ItemStatus, ListItem, Timestamp};
use rusqlite::Transaction;

use super::blockers::find_cycle;
use super::change::require_existing;
use super::limits::{self, ITEMS};
use super::list::ChangedItems;
use super::rows::{ItemBody, ItemRow, ListRows};
use super::{ExpectedVersion, ItemChange, ListError};
use crate::backup::BackupLine;
use crate::error::sqlite_error;

/// A transaction on a list; it is rolled back when dropped.
#[derive(Debug)]
pub(super) struct ListTransaction<'a> {
    pub(super) path: &'a Path,
    pub(super) key: &'a str,
    pub(super) transaction: Transaction<'a>,
    /// The items that were written.
    pub(super) written: RefCell<BTreeSet<ItemId>>,
}

impl ListTransaction<'_> {
    pub(super) fn rows(&self) -> ListRows<'_> {
        ListRows { conn: &self.transaction, key: self.key }
    }

    pub(super) fn query<T>(&self, query: impl FnOnce(ListRows<'_>) -> rusqlite::Result<T>) -> Result<T, ListError> {
        Ok(query(self.rows()).map_err(sqlite_error(self.path))?)
    }

    /// Removes an id that was reserved and never used.
    pub(super) fn forget_reserved(&self, id: ItemId) -> Result<(), ListError> {
        self.written.borrow_mut().insert(id);
        self.query(|rows| rows.forget_reserved(id))
    }

    /// The written items as lines of the backup.
    pub(super) fn backup_lines(&self) -> Result<Vec<BackupLine>, ListError> {
        let line = |id: &ItemId| {
            let list = self.key.to_owned();
            Ok(match self.find(*id)? {
                Some(row) => BackupLine::Item { list, item: Box::new(row.item(Vec::new())) },
                None => BackupLine::ItemRemoved { list, id: *id },
            })
        };
        self.written.borrow().iter().map(line).collect()
    }

    pub(super) fn find(&self, id: ItemId) -> Result<Option<ItemRow>, ListError> {
        self.query(|rows| rows.find(id))
    }

    pub(super) fn put(&self, row: &ItemRow) -> Result<(), ListError> {
        self.written.borrow_mut().insert(row.id);
        self.query(|rows| rows.put(row))
    }

    pub(super) fn insert(&self, status: ItemStatus, body: ItemBody, at: Timestamp) -> Result<ItemRow, ListError> {
        let full_error = || ListError::Invalid(format!("the list has {ITEMS} items; archive or delete some first"));
        if self.query(|rows| rows.count())? >= ITEMS {
            return Err(full_error());
        }
        let id = self.query(|rows| rows.next_id())?.ok_or_else(full_error)?;
        let version = u64::from(status != ItemStatus::Deleted);
        let row = ItemRow { id, version, status, body, archived: false, created_at: at, updated_at: at };
        self.put(&row)?;
        Ok(row)
    }

    pub(super) fn update(
        &self,
        id: ItemId,
        expected: ExpectedVersion,
        change: &ItemChange,
        at: Timestamp,
    ) -> Result<ChangedItems, ListError> {
        let row = require_existing(id, self.find(id)?)?;
        if let Err(seen) = expected.check(row.version) {
            return Err(ListError::Stale { seen, fresh: Box::new(self.item(id)?) });
        }
        let mut others = Vec::new();
        for other in change.add_blocks.iter().copied() {
            let waiting = require_existing(other, self.find(other)?)?;
            let blocked = ItemChange { add_blocked_by: vec![id], ..ItemChange::default() }.apply(&waiting);
            others.extend(self.write(&waiting, blocked, at)?);
        }
        let after = change.apply(&row);
        let starts_or_completes =
            after.status != row.status && matches!(after.status, ItemStatus::InProgress | ItemStatus::Completed);
        let is_deleted = after.status == ItemStatus::Deleted;
        self.write(&row, after, at)?;
        if starts_or_completes {
            let by = self.query(|rows| rows.open_blockers(id))?;
            if !by.is_empty() {
                return Err(ListError::Blocked { id, by });
            }
        }
        if is_deleted {
            others.extend(self.unblock_dependents(id, at)?);
        }
        self.changed_items(id, others)
    }

    /// Writes a changed row and checks that it is valid.
    fn write(&self, before: &ItemRow, after: ItemRow, at: Timestamp) -> Result<Option<ItemId>, ListError> {
        if after == *before {
            return Ok(None);
        }
        let row = ItemRow { version: before.version + 1, updated_at: at, ..after };
        self.put(&row)?;
        self.validate_row(&row)?;
        Ok(Some(row.id))
    }

    /// Removes a deleted item from the blockers of other items.
    fn unblock_dependents(&self, id: ItemId, at: Timestamp) -> Result<Vec<ItemId>, ListError> {
        let waiting = self.query(|rows| rows.waiting_for(id))?;
        for other in &waiting {
            let row = require_existing(*other, self.find(*other)?)?;
            let unblocked = ItemChange { remove_blocked_by: vec![id], ..ItemChange::default() }.apply(&row);
            self.write(&row, unblocked, at)?;
        }
        Ok(waiting)
    }

    /// Refuses a written row that is not valid.
    pub(super) fn validate_row(&self, row: &ItemRow) -> Result<(), ListError> {
        limits::check(&row.body)?;
        if row.body.blocked_by.is_empty() {
            return Ok(());
        }
        for id in &row.body.blocked_by {
            require_existing(*id, self.find(*id)?)?;
        }
        let edges = self.query(|rows| rows.blockers_by_item())?;
        find_cycle(&edges, std::iter::once(row.id)).map_or(Ok(()), |path| Err(ListError::Cycle(path)))
    }

    pub(super) fn put_next_version(&self, row: ItemRow, at: Timestamp) -> Result<ListItem, ListError> {
        let id = row.id;
        self.put(&ItemRow { version: row.version + 1, updated_at: at, ..row })?;
        self.item(id)
    }

    pub(super) fn item(&self, id: ItemId) -> Result<ListItem, ListError> {
        self.query(|rows| rows.item(id))?.ok_or(ListError::Missing(id))
    }

    pub(super) fn changed_items(&self, id: ItemId, mut others: Vec<ItemId>) -> Result<ChangedItems, ListError> {
        others.sort_unstable();
        others.dedup();
        let others =
            others.into_iter().filter(|other| *other != id).map(|other| self.item(other)).collect::<Result<_, _>>()?;
        Ok(ChangedItems { item: self.item(id)?, others })
    }
}
