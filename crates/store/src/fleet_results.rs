//! The result cache of fleets, in `bosun.db`: results of todos by their cache key. Losing a row only means doing the
//! work again, so changes are not forced to disk.

use std::path::PathBuf;

use host::Home;
use protocol::{Timestamp, TodoId};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use crate::error::sqlite_error;
use crate::{SessionIndex, StoreError};

/// The cached results of one project.
#[derive(Debug)]
pub struct FleetResultStore {
    path: PathBuf,
    conn: Connection,
    project: String,
}

/// The cached result of a todo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetResultRow {
    /// The cache key.
    pub key: String,
    /// The id that the todo had then.
    pub todo: TodoId,
    /// The state of its files when the fleet that did it began.
    pub before: String,
    /// The state of its files when that fleet, or a later one that reused the result, ended; absent while unknown.
    pub after: Option<String>,
    /// The worker's final message.
    pub result: String,
    /// The commit that holds its work, if it worked in its own checkout.
    pub commit_id: Option<String>,
}

impl FleetResultStore {
    /// Opens the results of a project, creating the file when it is missing or damaged.
    pub fn open(home: &Home, project: impl Into<String>) -> Result<FleetResultStore, StoreError> {
        let conn = SessionIndex::open(home)?.into_connection();
        let path = home.index_db();
        conn.pragma_update(None, "synchronous", "NORMAL").map_err(sqlite_error(&path))?;
        Ok(FleetResultStore { path, conn, project: project.into() })
    }

    /// The result with exactly this key.
    pub fn get(&self, key: &str) -> Result<Option<FleetResultRow>, StoreError> {
        let get = || -> rusqlite::Result<Option<FleetResultRow>> {
            let mut select = self.conn.prepare_cached("SELECT * FROM fleet_results WHERE project = ?1 AND key = ?2")?;
            select.query_row([&self.project, key], result_row).optional()
        };
        get().map_err(sqlite_error(&self.path))
    }

    /// Whether there is a result of a todo with this id, under any key.
    pub fn has_todo(&self, todo: &TodoId) -> Result<bool, StoreError> {
        let exists = || -> rusqlite::Result<bool> {
            self.conn
                .prepare_cached("SELECT 1 FROM fleet_results WHERE project = ?1 AND todo = ?2 LIMIT 1")?
                .exists([&self.project, &todo.0])
        };
        exists().map_err(sqlite_error(&self.path))
    }

    /// Stores a result; an older result with the same key is replaced.
    pub fn put(&self, row: &FleetResultRow, at: Timestamp) -> Result<(), StoreError> {
        let FleetResultRow { key, todo, before, after, result, commit_id } = row;
        let put = || -> rusqlite::Result<()> {
            self.conn
                .prepare_cached(
                    "INSERT OR REPLACE INTO fleet_results (project, key, todo, before, after, result, commit_id, at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute(params![self.project, key, todo.0, before, after, result, commit_id, at.0])?;
            Ok(())
        };
        put().map_err(sqlite_error(&self.path))
    }

    /// Sets the `after` file states of these keys in one transaction.
    pub fn set_files_after(&self, states: &[(String, String)], at: Timestamp) -> Result<(), StoreError> {
        let set = || -> rusqlite::Result<()> {
            let transaction = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
            let mut update = transaction
                .prepare_cached("UPDATE fleet_results SET after = ?3, at = ?4 WHERE project = ?1 AND key = ?2")?;
            for (key, after) in states {
                update.execute(params![self.project, key, after, at.0])?;
            }
            drop(update);
            transaction.commit()
        };
        set().map_err(sqlite_error(&self.path))
    }

    /// Removes a result.
    pub fn remove(&self, key: &str) -> Result<(), StoreError> {
        let remove = || -> rusqlite::Result<usize> {
            let mut delete = self.conn.prepare_cached("DELETE FROM fleet_results WHERE project = ?1 AND key = ?2")?;
            delete.execute([&self.project, key])
        };
        remove().map(|_count| ()).map_err(sqlite_error(&self.path))
    }

    /// Removes the results that no fleet has used since `then`, in all projects; returns how many.
    pub fn remove_unused_since(home: &Home, then: Timestamp) -> Result<usize, StoreError> {
        let conn = SessionIndex::open(home)?.into_connection();
        conn.execute("DELETE FROM fleet_results WHERE at < ?1", [then.0]).map_err(sqlite_error(&home.index_db()))
    }

    /// How many results [`FleetResultStore::remove_unused_since`] would remove.
    pub fn count_unused_since(home: &Home, then: Timestamp) -> Result<usize, StoreError> {
        let conn = SessionIndex::open(home)?.into_connection();
        conn.query_row("SELECT count(*) FROM fleet_results WHERE at < ?1", [then.0], |row| row.get(0))
            .map_err(sqlite_error(&home.index_db()))
    }
}

fn result_row(row: &Row<'_>) -> rusqlite::Result<FleetResultRow> {
    Ok(FleetResultRow {
        key: row.get("key")?,
        todo: TodoId(row.get("todo")?),
        before: row.get("before")?,
        after: row.get("after")?,
        result: row.get("result")?,
        commit_id: row.get("commit_id")?,
    })
}
