//! The buckets that processes share in `bosun.db`: one row of text each, changed by one process at a time.
//!
//! What a bucket says is worth nothing after a crash of the machine, so a change is not forced to the disk.

use std::path::PathBuf;
use std::time::Duration;

use host::Home;
use protocol::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};

use crate::error::fault;
use crate::{SessionIndex, SessionReader, StoreError, listing, salvage};

/// A change takes less than a millisecond; who waits this long does better without the others.
const PATIENCE: Duration = Duration::from_secs(3);

/// The shared buckets, on a connection of their own.
#[derive(Debug)]
pub struct BucketStore {
    path: PathBuf,
    conn: Connection,
}

impl BucketStore {
    /// Where it is kept what was spent each day. No provider has such a name.
    pub const DAYS: &str = "days";

    /// Opens the buckets of a home, making the file when it is missing or damaged.
    pub fn open(home: &Home) -> Result<BucketStore, StoreError> {
        let conn = SessionIndex::open(home)?.into_connection();
        let path = home.index_db();
        let set = || -> rusqlite::Result<()> {
            conn.busy_timeout(PATIENCE)?;
            conn.pragma_update(None, "synchronous", "NORMAL")?;
            // Folding the log into the file takes longer than everything else that is done here.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            Ok(())
        };
        set().map_err(fault(&path))?;
        Ok(BucketStore { path, conn })
    }

    /// The same to read them. Of a home that cannot be written it is a copy.
    pub fn open_to_read(home: &Home) -> Result<BucketStore, StoreError> {
        match BucketStore::open(home) {
            Err(StoreError::ReadOnly { .. } | StoreError::Denied { .. } | StoreError::Home(_)) => {
                Ok(BucketStore { path: home.index_db(), conn: SessionIndex::open_copy(home)?.into_connection() })
            }
            opened => opened,
        }
    }

    /// What a bucket says at the moment.
    pub fn read(&self, key: &str) -> Result<Option<String>, StoreError> {
        read(&self.conn, key).map_err(fault(&self.path))
    }

    /// What sessions spent on turns that began at `since` or later, in millionths of a US dollar, from their own files
    /// as the index knows them: for when nothing else is known of a day, since `bosun.db` was lost. Of a damaged session
    /// counts what can be read.
    pub fn spent_since(&self, home: &Home, since: Timestamp) -> Result<u64, StoreError> {
        let (mut sum, in_part) = listing::micros_since(&self.conn, since).map_err(fault(&self.path))?;
        for id in in_part {
            let spent = SessionReader::open(home, id).and_then(|reader| reader.spendings(since));
            let spent = spent.or_else(|_damaged| {
                SessionReader::of_events(id, &salvage(home, id)?.events).and_then(|reader| reader.spendings(since))
            });
            // Nothing can be known of a session that gives nothing.
            let spent = spent.unwrap_or_default();
            sum = spent.iter().map(|spending| spending.cost.micros).fold(sum, u64::saturating_add);
        }
        Ok(sum)
    }

    /// Every bucket of a provider and what it says.
    pub fn all(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.conn
            .prepare_cached("SELECT CAST(state AS BLOB), key FROM buckets WHERE key <> ?1 ORDER BY key")
            .and_then(|mut all| all.query_map([BucketStore::DAYS], |row| Ok((row.get(1)?, text(row)?)))?.collect())
            .map_err(fault(&self.path))
    }

    /// Forgets every bucket of a provider, as if no provider had ever been asked.
    pub fn clear(&self) -> Result<(), StoreError> {
        self.conn
            .execute("DELETE FROM buckets WHERE key <> ?1", [BucketStore::DAYS])
            .map(|_count| ())
            .map_err(fault(&self.path))
    }

    /// Changes a bucket. Nobody else changes it meanwhile, so `edit` must be short.
    pub fn change<T>(&self, key: &str, edit: impl FnOnce(Option<String>) -> (String, T)) -> Result<T, StoreError> {
        let change = || -> rusqlite::Result<T> {
            let change = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
            let before = read(&change, key)?;
            let (after, told) = edit(before.clone());
            if before.as_ref() != Some(&after) {
                change
                    .prepare_cached("INSERT OR REPLACE INTO buckets (key, state) VALUES (?1, ?2)")?
                    .execute([key, &after])?;
            }
            change.commit()?;
            Ok(told)
        };
        change().map_err(fault(&self.path))
    }
}

fn read(conn: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT CAST(state AS BLOB) FROM buckets WHERE key = ?1")?.query_row([key], text).optional()
}

/// Text that is damaged is still text: whoever reads it says what it is worth.
fn text(row: &Row<'_>) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(0)?.as_blob()?).into_owned())
}
