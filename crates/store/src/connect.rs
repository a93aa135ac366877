//! Opens databases, one function per role. No other module opens one.
//!
//! A process that closes any descriptor of a file loses its POSIX locks on it, also those of SQLite's connections; SQLite
//! itself takes care of this. So no file that may be open here is opened in another way.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::error::{companion_path, io_error, sqlite_error};

/// How long to wait for another connection: longer than any transaction may take, so that waiting is not an error.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The size to which the write-ahead log is truncated after a checkpoint.
const MAX_IDLE_WAL_BYTES: i64 = 16 * 1024 * 1024;

/// Creates an empty database file that only its user can read, and opens it for writing.
pub(crate) fn create(path: &Path) -> Result<Connection, StoreError> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(io_error(path))?;
    open_writable(path)
}

/// Opens a database for writing.
pub(crate) fn open_writable(path: &Path) -> Result<Connection, StoreError> {
    let open = || -> rusqlite::Result<Connection> {
        let conn =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        harden(&conn)?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        conn.pragma_update(None, "journal_size_limit", MAX_IDLE_WAL_BYTES)?;
        // Deleted data may contain a key.
        conn.pragma_update(None, "secure_delete", true)?;
        // A table that a model made may reference a runtime table; this must not affect the runtime's writes.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
        Ok(conn)
    };
    open().map_err(sqlite_error(path))
}

/// Opens a database for reading. The connection never takes a lock that a writer waits for.
pub(crate) fn open_readable(path: &Path) -> Result<Connection, StoreError> {
    match open_to_read(path).map_err(sqlite_error(path)) {
        Err(StoreError::ReadOnly { .. } | StoreError::Denied { .. }) if host::check_readable(path).is_ok() => {
            open_readable_copy(path)
        }
        opened => opened,
    }
}

fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    harden(&conn)?;
    conn.pragma_update(None, "query_only", true)?;
    // Only the first query shows whether the companion files can be created.
    conn.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0))?;
    Ok(conn)
}

/// Opens a database to read its header. Nothing is locked or created, and neither the write-ahead log nor the rest of
/// the file is looked at.
pub(crate) fn open_unlocked(path: &Path) -> rusqlite::Result<Connection> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(byte);
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match is_plain(byte) {
            true => uri.push(char::from(*byte)),
            false => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(uri, flags)?;
    // Otherwise SQLite refuses a file that is shorter than its header says, such as one that is being written.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    Ok(conn)
}

/// Opens a copy of a database in a read-only folder, since SQLite needs two companion files even to read. The copy is
/// already unlinked when this returns.
fn open_readable_copy(path: &Path) -> Result<Connection, StoreError> {
    let folder = tempfile::tempdir().map_err(io_error(path))?;
    let copy = folder.path().join("copy.db");
    for suffix in ["", "-wal"] {
        let (from, to) = (companion_path(path, suffix), companion_path(&copy, suffix));
        match fs::copy(&from, &to) {
            Err(error) if !suffix.is_empty() && error.kind() == io::ErrorKind::NotFound => {}
            copied => {
                copied
                    .and_then(|_bytes| fs::set_permissions(&to, Permissions::from_mode(0o600)))
                    .map_err(io_error(&from))?;
            }
        }
    }
    open_to_read(&copy).map_err(sqlite_error(path))
}

/// A copy of a database in memory, which can be changed without changing the file; empty if there is no file.
pub(crate) fn open_in_memory(path: &Path) -> Result<Connection, StoreError> {
    let mut memory = Connection::open_in_memory().map_err(sqlite_error(path))?;
    if path.exists() {
        let source = open_readable(path)?;
        Backup::new(&source, &mut memory).and_then(|copying| copying.step(-1)).map_err(sqlite_error(path))?;
    }
    harden(&memory).map_err(sqlite_error(path))?;
    Ok(memory)
}

/// Sets up a connection so that it does not trust the file's schema: a file may come from anywhere.
fn harden(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(LOCK_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Plans do not depend on values; otherwise SQLite compiles a cached statement again for every other value.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}
