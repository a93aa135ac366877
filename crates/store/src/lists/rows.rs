//! Items as rows: values that are queried are columns, the rest is JSON.

use protocol::{ItemId, ItemStatus, ListItem, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::unreadable;
use crate::event;

pub(super) const COLUMNS: &str = "id, version, status, body, archived, created_at, updated_at";

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemRow {
    pub(super) id: ItemId,
    pub(super) version: u64,
    pub(super) status: ItemStatus,
    pub(super) body: ItemBody,
    pub(super) archived: bool,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

/// The content of an item. It lists the items that this one waits for, not those that wait for this one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ItemBody {
    pub(super) subject: String,
    pub(super) description: String,
    pub(super) active_form: Option<String>,
    pub(super) owner: Option<String>,
    pub(super) blocked_by: Vec<ItemId>,
    pub(super) metadata: Map<String, Value>,
    pub(super) task: Option<TaskId>,
    pub(super) author: String,
}

impl ItemRow {
    /// The item, with the items that wait for it.
    pub(super) fn item(self, blocks: Vec<ItemId>) -> ListItem {
        let ItemRow { id, version, status, body, archived, created_at, updated_at } = self;
        let ItemBody { subject, description, active_form, owner, blocked_by, metadata, task, author } = body;
        ListItem {
            id,
            subject,
            description,
            active_form,
            status,
            owner,
            blocks,
            blocked_by,
            metadata,
            version,
            task,
            author,
            created_at,
            updated_at,
            archived,
        }
    }
}

impl From<ListItem> for ItemRow {
    fn from(item: ListItem) -> ItemRow {
        let ListItem { id, version, status, archived, created_at, updated_at, blocks: _, .. } = item;
        let ListItem { subject, description, active_form, owner, blocked_by, metadata, task, author, .. } = item;
        let body = ItemBody { subject, description, active_form, owner, blocked_by, metadata, task, author };
        ItemRow { id, version, status, body, archived, created_at, updated_at }
    }
}

/// The rows of one list in a file that may hold several lists.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListRows<'a> {
    pub(super) conn: &'a Connection,
    pub(super) key: &'a str,
}

impl ListRows<'_> {
    /// A row, deleted or not.
    pub(super) fn find(&self, id: ItemId) -> rusqlite::Result<Option<ItemRow>> {
        self.conn
            .prepare_cached(&format!("SELECT {COLUMNS} FROM bosun_items WHERE list = ?1 AND id = ?2"))?
            .query_row(params![self.key, id.0], read_row)
            .optional()
    }

    /// An item with the items that wait for it.
    pub(super) fn item(&self, id: ItemId) -> rusqlite::Result<Option<ListItem>> {
        let Some(row) = self.find(id)? else { return Ok(None) };
        let blocks = self.waiting_for(id)?;
        Ok(Some(row.item(blocks)))
    }

    /// Rows that match a condition, which may use named parameters.
    pub(super) fn select(
        &self,
        condition: &str,
        values: &[(&str, &dyn rusqlite::ToSql)],
    ) -> rusqlite::Result<Vec<ItemRow>> {
        let mut select = self
            .conn
            .prepare_cached(&format!("SELECT {COLUMNS} FROM bosun_items WHERE list = :list AND {condition}"))?;
        let all: Vec<(&str, &dyn rusqlite::ToSql)> =
            values.iter().copied().chain([(":list", &self.key as &dyn rusqlite::ToSql)]).collect();
        select.query_map(&*all, read_row)?.collect()
    }

    /// The items that wait for this one.
    pub(super) fn waiting_for(&self, id: ItemId) -> rusqlite::Result<Vec<ItemId>> {
        self.conn
            .prepare_cached(
                "SELECT DISTINCT i.id FROM bosun_items AS i, json_each(i.body, '$.blockedBy') AS e
                 WHERE i.list = ?1 AND i.status <> 'deleted' AND e.value = ?2 ORDER BY i.id",
            )?
            .query_map(params![self.key, id.to_string()], |row| row.get(0).map(ItemId))?
            .collect()
    }

    /// Inserts or replaces a row.
    pub(super) fn put(&self, row: &ItemRow) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached(&format!(
                "INSERT OR REPLACE INTO bosun_items (list, {COLUMNS})
                 VALUES (:list, :id, :version, :status, :body, :archived, :created, :updated)"
            ))?
            .execute(named_params! {
                ":list": self.key,
                ":id": row.id.0,
                ":version": i64::try_from(row.version).unwrap_or(i64::MAX),
                ":status": row.status.as_str(),
                ":body": event::to_json(&row.body)?,
                ":archived": row.archived,
                ":created": row.created_at.0,
                ":updated": row.updated_at.0,
            })?;
        Ok(())
    }

    /// The first id that was never used; none when all numbers are used.
    pub(super) fn next_id(&self) -> rusqlite::Result<Option<ItemId>> {
        let last: u32 = self
            .conn
            .prepare_cached("SELECT coalesce(max(id), 0) FROM bosun_items WHERE list = ?1")?
            .query_row([self.key], |row| row.get(0))?;
        Ok(last.checked_add(1).map(ItemId))
    }

    /// Removes an id that was reserved and never used.
    pub(super) fn forget_reserved(&self, id: ItemId) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached("DELETE FROM bosun_items WHERE list = ?1 AND id = ?2 AND version = 0")?
            .execute(rusqlite::params![self.key, id.0])?;
        Ok(())
    }

    /// How many items are neither deleted nor archived.
    pub(super) fn count(&self) -> rusqlite::Result<u32> {
        self.conn
            .prepare_cached(
                "SELECT count(*) FROM bosun_items WHERE list = ?1 AND status <> 'deleted' AND NOT archived",
            )?
            .query_row([self.key], |row| row.get(0))
    }
}

/// Reads a row.
pub(super) fn read_row(row: &Row<'_>) -> rusqlite::Result<ItemRow> {
    let status: String = row.get("status")?;
    Ok(ItemRow {
        id: ItemId(row.get("id")?),
        version: u64::try_from(row.get::<_, i64>("version")?).map_err(unreadable)?,
        status: ItemStatus::from_name(&status).ok_or_else(|| unreadable(format!("`{status}` is not a status")))?,
        body: serde_json::from_str(&row.get::<_, String>("body")?).map_err(unreadable)?,
        archived: row.get("archived")?,
        created_at: Timestamp(row.get("created_at")?),
        updated_at: Timestamp(row.get("updated_at")?),
    })
}
