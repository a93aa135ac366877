//! The projects that the user trusts, in `bosun.db` and in its backup.

use std::path::PathBuf;

use host::Home;
use protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::backup::BackupLine;
use crate::error::sqlite_error;
use crate::{SessionIndex, StoreError, backup};

/// The projects that the user trusts.
#[derive(Debug)]
pub struct TrustStore {
    home: Home,
    path: PathBuf,
    conn: Connection,
}

/// A project that the user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRow {
    /// Its root folder.
    pub top: String,
    /// The digest of its control files when it was trusted.
    pub digest: String,
    /// When it was trusted.
    pub at: Timestamp,
}

impl TrustStore {
    /// Opens the list, creating it when it is missing or damaged.
    pub fn open(home: &Home) -> Result<TrustStore, StoreError> {
        Ok(TrustStore { home: home.clone(), path: home.index_db(), conn: SessionIndex::open(home)?.into_connection() })
    }

    /// The digest that a project was trusted with, if it was. A path that is not UTF-8 is never trusted.
    pub fn digest(&self, top: &str) -> Result<Option<String>, StoreError> {
        self.query(|conn| conn.query_row("SELECT digest FROM trust WHERE top = ?1", [top], |row| row.get(0)).optional())
    }

    /// Trusts a project with the current content of its control files.
    pub fn add(&self, row: &TrustRow) -> Result<(), StoreError> {
        let TrustRow { top, digest, at } = row;
        self.query(|conn| {
            conn.execute(
                "INSERT OR REPLACE INTO trust (top, digest, at) VALUES (?1, ?2, ?3)",
                params![top, digest, at.0],
            )
        })?;
        backup::append(&self.home, &self.conn, &[row.into()])
    }

    /// Stops trusting a project; returns whether it was trusted.
    pub fn remove(&self, top: &str) -> Result<bool, StoreError> {
        // Remove it from the backup first: the backup may trust fewer projects, but never more.
        backup::append(&self.home, &self.conn, &[BackupLine::Distrusted { top: top.to_owned() }])?;
        Ok(self.query(|conn| conn.execute("DELETE FROM trust WHERE top = ?1", [top]))? > 0)
    }

    /// All trusted projects, by name.
    pub fn list(&self) -> Result<Vec<TrustRow>, StoreError> {
        self.query(all_rows)
    }

    /// Runs a query. If the file is damaged, rebuilds it and runs the query again.
    fn query<T>(&self, query: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        match query(&self.conn).map_err(sqlite_error(&self.path)) {
            Err(StoreError::Corrupt { .. }) => SessionIndex::rebuild(&self.home)?.query(query),
            result => result,
        }
    }
}

/// All trusted projects, by name.
pub(crate) fn all_rows(conn: &Connection) -> rusqlite::Result<Vec<TrustRow>> {
    conn.prepare("SELECT top, digest, at FROM trust ORDER BY top")?
        .query_map([], |row| {
            Ok(TrustRow { top: row.get("top")?, digest: row.get("digest")?, at: Timestamp(row.get("at")?) })
        })?
        .collect()
}
