//! The projects that the user trusts, in `bosun.db` and in the second copy of it.

use std::path::PathBuf;

use host::Home;
use protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::backup::BackupLine;
use crate::error::fault;
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
    /// Its topmost folder.
    pub top: String,
    /// The digest of what controls Bosun in it, as it was when it was trusted.
    pub digest: String,
    /// When that was.
    pub at: Timestamp,
}

impl TrustStore {
    /// Opens the list, making it when it is missing or damaged.
    pub fn open(home: &Home) -> Result<TrustStore, StoreError> {
        Ok(TrustStore { home: home.clone(), path: home.index_db(), conn: SessionIndex::open(home)?.into_connection() })
    }

    /// The digest that a project was trusted with, if it was. Names that are no text are not trusted.
    pub fn digest(&self, top: &str) -> Result<Option<String>, StoreError> {
        self.query(|conn| conn.query_row("SELECT digest FROM trust WHERE top = ?1", [top], |row| row.get(0)).optional())
    }

    /// Trusts a project as it is.
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

    /// Trusts a project no more, and says whether it was trusted.
    pub fn remove(&self, top: &str) -> Result<bool, StoreError> {
        // First in the second copy, which may trust less and never more.
        backup::append(&self.home, &self.conn, &[BackupLine::Distrusted { top: top.to_owned() }])?;
        Ok(self.query(|conn| conn.execute("DELETE FROM trust WHERE top = ?1", [top]))? > 0)
    }

    /// Every project that is trusted, by name.
    pub fn list(&self) -> Result<Vec<TrustRow>, StoreError> {
        self.query(every_row)
    }

    /// Asks the file; one that is damaged is made again first.
    fn query<T>(&self, question: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        match question(&self.conn).map_err(fault(&self.path)) {
            Err(StoreError::Corrupt { .. }) => SessionIndex::rebuild(&self.home)?.query(question),
            asked => asked,
        }
    }
}

/// Every project that is trusted, by name.
pub(crate) fn every_row(conn: &Connection) -> rusqlite::Result<Vec<TrustRow>> {
    conn.prepare("SELECT top, digest, at FROM trust ORDER BY top")?
        .query_map([], |row| {
            Ok(TrustRow { top: row.get("top")?, digest: row.get("digest")?, at: Timestamp(row.get("at")?) })
        })?
        .collect()
}
