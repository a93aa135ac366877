//! The buckets that processes share in `bosun.db`: one row of text each, changed by one process at a time.
//!
//! After a crash of the machine, a bucket's state is not needed any more, so changes are not forced to disk.

use std::path::PathBuf;
use std::time::Duration;

use host::Home;
use protocol::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};

use crate::error::sqlite_error;
use crate::{SessionIndex, SessionReader, StoreError, listing, salvage};

/// How long to wait for another process. A change takes less than a millisecond; after this long it is better to
/// proceed without the shared state.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// The shared buckets, on their own connection.
#[derive(Debug)]
pub struct BucketStore {
    path: PathBuf,
    conn: Connection,
}

impl BucketStore {
    /// The key of the daily spending. No provider has this name.
    pub const DAYS: &str = "days";

    /// Opens the buckets of a home, creating the file when it is missing or damaged.
    pub fn open(home: &Home) -> Result<BucketStore, StoreError> {
        let conn = SessionIndex::open(home)?.into_connection();
        let path = home.index_db();
        let configure = || -> rusqlite::Result<()> {
            conn.busy_timeout(LOCK_TIMEOUT)?;
            conn.pragma_update(None, "synchronous", "NORMAL")?;
            // A checkpoint would take longer than all other work here.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            Ok(())
        };
        configure().map_err(sqlite_error(&path))?;
        Ok(BucketStore { path, conn })
    }

    /// Opens the buckets to read them; a copy if the home cannot be written.
    pub fn open_to_read(home: &Home) -> Result<BucketStore, StoreError> {
        match BucketStore::open(home) {
            Err(StoreError::ReadOnly { .. } | StoreError::Denied { .. } | StoreError::Home(_)) => {
                Ok(BucketStore { path: home.index_db(), conn: SessionIndex::open_copy(home)?.into_connection() })
            }
            opened => opened,
        }
    }

    /// The current state of a bucket.
    pub fn read(&self, key: &str) -> Result<Option<String>, StoreError> {
        read(&self.conn, key).map_err(sqlite_error(&self.path))
    }

    /// What sessions spent on turns that began at `since` or later, in millionths of a US dollar, from the index and
    /// the session files. This replaces the day's spending if `bosun.db` was lost. A damaged session counts as far as
    /// it can be read.
    pub fn spent_since(&self, home: &Home, since: Timestamp) -> Result<u64, StoreError> {
        let (mut sum, partly_counted) =
            listing::spent_micros_since(&self.conn, since).map_err(sqlite_error(&self.path))?;
        for id in partly_counted {
            let spent = SessionReader::open(home, id).and_then(|reader| reader.spendings(since));
            let spent = spent.or_else(|_damaged| {
                SessionReader::from_events(id, &salvage(home, id)?.events).and_then(|reader| reader.spendings(since))
            });
            // A session that cannot be read at all counts as nothing.
            let spent = spent.unwrap_or_default();
            sum = spent.iter().map(|spending| spending.cost.micros).fold(sum, u64::saturating_add);
        }
        Ok(sum)
    }

    /// All provider buckets with their states.
    pub fn all(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.conn
            .prepare_cached("SELECT CAST(state AS BLOB), key FROM buckets WHERE key <> ?1 ORDER BY key")
            .and_then(|mut all| all.query_map([BucketStore::DAYS], |row| Ok((row.get(1)?, text(row)?)))?.collect())
            .map_err(sqlite_error(&self.path))
    }

    /// Removes all provider buckets.
    pub fn clear(&self) -> Result<(), StoreError> {
        self.conn
            .execute("DELETE FROM buckets WHERE key <> ?1", [BucketStore::DAYS])
            .map(|_count| ())
            .map_err(sqlite_error(&self.path))
    }

    /// Changes a bucket. `edit` must be short, since it runs inside a transaction.
    pub fn change<T>(&self, key: &str, edit: impl FnOnce(Option<String>) -> (String, T)) -> Result<T, StoreError> {
        let apply = || -> rusqlite::Result<T> {
            let transaction = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
            let before = read(&transaction, key)?;
            let (after, result) = edit(before.clone());
            if before.as_ref() != Some(&after) {
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO buckets (key, state) VALUES (?1, ?2)")?
                    .execute([key, &after])?;
            }
            transaction.commit()?;
            Ok(result)
        };
        apply().map_err(sqlite_error(&self.path))
    }
}

fn read(conn: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT CAST(state AS BLOB) FROM buckets WHERE key = ?1")?.query_row([key], text).optional()
}

/// Reads a text even if it is damaged; the caller decides what to do with it.
fn text(row: &Row<'_>) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(0)?.as_blob()?).into_owned())
}
