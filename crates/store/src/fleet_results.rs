//! What the todos of fleets brought, in `bosun.db`, by a digest of everything they were done with. Losing a row costs
//! the work once more and nothing else, so a change is not forced to the disk.

use std::path::PathBuf;

use host::Home;
use protocol::{Timestamp, TodoId};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use crate::error::fault;
use crate::{SessionIndex, StoreError};

/// What the todos of one project brought.
#[derive(Debug)]
pub struct FleetResultStore {
    path: PathBuf,
    conn: Connection,
    project: String,
}

/// What a todo brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetResultRow {
    /// The digest of what it was done with.
    pub key: String,
    /// What it was called then.
    pub todo: TodoId,
    /// The files that it looks at, as they were when the run began that did it.
    pub before: String,
    /// The same when that run, or a later one that used the result, had ended; absent while that is not known.
    pub after: Option<String>,
    /// What its worker said last.
    pub result: String,
    /// The commit that holds its work, if it worked in a checkout of its own.
    pub commit_id: Option<String>,
}

impl FleetResultStore {
    /// Opens the results of a project, making the file when it is missing or damaged.
    pub fn open(home: &Home, project: impl Into<String>) -> Result<FleetResultStore, StoreError> {
        let conn = SessionIndex::open(home)?.into_connection();
        let path = home.index_db();
        conn.pragma_update(None, "synchronous", "NORMAL").map_err(fault(&path))?;
        Ok(FleetResultStore { path, conn, project: project.into() })
    }

    /// What was done with exactly this.
    pub fn get(&self, key: &str) -> Result<Option<FleetResultRow>, StoreError> {
        let get = || -> rusqlite::Result<Option<FleetResultRow>> {
            let mut get = self.conn.prepare_cached("SELECT * FROM fleet_results WHERE project = ?1 AND key = ?2")?;
            get.query_row([&self.project, key], result_row).optional()
        };
        get().map_err(fault(&self.path))
    }

    /// Whether a todo of this name was ever done, with whatever.
    pub fn has_todo(&self, todo: &TodoId) -> Result<bool, StoreError> {
        let knows = || -> rusqlite::Result<bool> {
            self.conn
                .prepare_cached("SELECT 1 FROM fleet_results WHERE project = ?1 AND todo = ?2 LIMIT 1")?
                .exists([&self.project, &todo.0])
        };
        knows().map_err(fault(&self.path))
    }

    /// Keeps what a todo brought; an older result of the same key is replaced.
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
        put().map_err(fault(&self.path))
    }

    /// Says how the files of these keys were when the run that used them had ended, all at once.
    pub fn set_after(&self, states: &[(String, String)], at: Timestamp) -> Result<(), StoreError> {
        let set = || -> rusqlite::Result<()> {
            let change = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
            let mut set = change
                .prepare_cached("UPDATE fleet_results SET after = ?3, at = ?4 WHERE project = ?1 AND key = ?2")?;
            for (key, after) in states {
                set.execute(params![self.project, key, after, at.0])?;
            }
            drop(set);
            change.commit()
        };
        set().map_err(fault(&self.path))
    }

    /// Forgets a result that somebody does not want.
    pub fn remove(&self, key: &str) -> Result<(), StoreError> {
        let remove = || -> rusqlite::Result<usize> {
            let mut remove = self.conn.prepare_cached("DELETE FROM fleet_results WHERE project = ?1 AND key = ?2")?;
            remove.execute([&self.project, key])
        };
        remove().map(|_count| ()).map_err(fault(&self.path))
    }

    /// Drops what no run used since then, in every project, and says how many there were.
    pub fn drop_before(home: &Home, then: Timestamp) -> Result<usize, StoreError> {
        let conn = SessionIndex::open(home)?.into_connection();
        conn.execute("DELETE FROM fleet_results WHERE at < ?1", [then.0]).map_err(fault(&home.index_db()))
    }

    /// How many that would be.
    pub fn count_before(home: &Home, then: Timestamp) -> Result<usize, StoreError> {
        let conn = SessionIndex::open(home)?.into_connection();
        conn.query_row("SELECT count(*) FROM fleet_results WHERE at < ?1", [then.0], |row| row.get(0))
            .map_err(fault(&home.index_db()))
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
