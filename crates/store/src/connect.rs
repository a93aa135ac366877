//! The only places that open a database, one function per role.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::error::{fault, os_fault};

/// Longer than any transaction may take, so that waiting out another connection is not an error.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a log that has been copied back may keep on disk.
const WAL_REST: i64 = 16 * 1024 * 1024;

/// Makes an empty database file that only its user can read, and opens it to write.
pub(crate) fn create(path: &Path) -> Result<Connection, StoreError> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(os_fault(path))?;
    writable(path)
}

/// Opens a database to write to it.
pub(crate) fn writable(path: &Path) -> Result<Connection, StoreError> {
    let open = || -> rusqlite::Result<Connection> {
        let conn =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        harden(&conn)?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        conn.pragma_update(None, "journal_size_limit", WAL_REST)?;
        // What is taken away may have held a key.
        conn.pragma_update(None, "secure_delete", true)?;
        // A model's table may name a runtime table as its parent; that must not bear on what the runtime writes.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
        Ok(conn)
    };
    open().map_err(fault(path))
}

/// Opens a database to read it. It never takes a lock that a writer waits for.
pub(crate) fn readable(path: &Path) -> Result<Connection, StoreError> {
    let open = || -> rusqlite::Result<Connection> {
        let conn =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        harden(&conn)?;
        conn.pragma_update(None, "query_only", true)?;
        Ok(conn)
    };
    open().map_err(fault(path))
}

/// A file may come from anywhere: what its schema says is not trusted.
fn harden(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(PATIENCE)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(())
}
