//! The projects that the user trusts, in `bosun.db`. What is lost there is not trusted any more.

use std::path::PathBuf;

use host::Home;
use protocol::At;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::fault;
use crate::{Index, StoreError};

/// The projects that the user trusts.
#[derive(Debug)]
pub struct Trust {
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
    pub at: At,
}

impl Trust {
    /// Opens the list, making it when it is missing or damaged.
    pub fn open(home: &Home) -> Result<Trust, StoreError> {
        Ok(Trust { path: home.index_db(), conn: Index::open(home)?.into_connection() })
    }

    /// The digest that a project was trusted with, if it was. Names that are no text are not trusted.
    pub fn digest(&self, top: &str) -> Result<Option<String>, StoreError> {
        self.conn
            .query_row("SELECT digest FROM trust WHERE top = ?1", [top], |row| row.get(0))
            .optional()
            .map_err(fault(&self.path))
    }

    /// Trusts a project as it is.
    pub fn add(&self, row: &TrustRow) -> Result<(), StoreError> {
        let TrustRow { top, digest, at } = row;
        self.conn
            .execute("INSERT OR REPLACE INTO trust (top, digest, at) VALUES (?1, ?2, ?3)", params![top, digest, at.0])
            .map(|_count| ())
            .map_err(fault(&self.path))
    }

    /// Trusts a project no more, and says whether it was trusted.
    pub fn remove(&self, top: &str) -> Result<bool, StoreError> {
        let removed = self.conn.execute("DELETE FROM trust WHERE top = ?1", [top]).map_err(fault(&self.path))?;
        Ok(removed > 0)
    }

    /// Every project that is trusted, by name.
    pub fn list(&self) -> Result<Vec<TrustRow>, StoreError> {
        let row = |row: &rusqlite::Row<'_>| {
            Ok(TrustRow { top: row.get("top")?, digest: row.get("digest")?, at: At(row.get("at")?) })
        };
        self.conn
            .prepare("SELECT top, digest, at FROM trust ORDER BY top")
            .and_then(|mut select| select.query_map([], row)?.collect())
            .map_err(fault(&self.path))
    }
}
