//! The schema of each kind of file as a list of migration steps: the first turns an empty file into version 1, each
//! later one turns a version into the next.
//!
//! `user_version` counts the steps a file has taken; `application_id` identifies the kind of file.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;
use crate::error::sqlite_error;

/// A session's file.
pub(crate) const SESSION: FileSchema =
    FileSchema { application_id: 0x424F_5331, steps: &[include_str!("session.sql")] };

/// The index of sessions, the buckets, and the trusted projects.
pub(crate) const INDEX: FileSchema = FileSchema { application_id: 0x424F_5349, steps: &[include_str!("index.sql")] };

/// One kind of file.
#[derive(Debug)]
pub(crate) struct FileSchema {
    pub(crate) application_id: i64,
    /// The migration steps; an empty file has version 0.
    steps: &'static [&'static str],
}

/// How a file's schema relates to the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaStatus {
    /// Nothing was written to it yet.
    Empty,
    /// An older version wrote it.
    Older,
    /// This version wrote it.
    Current,
}

impl FileSchema {
    /// Checks the kind of a file and compares its version with the current one.
    pub(crate) fn status(&self, conn: &Connection, path: &Path) -> Result<SchemaStatus, StoreError> {
        let number =
            |pragma| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(sqlite_error(path));
        match (number("application_id")?, number("user_version")?) {
            (0, 0) => Ok(SchemaStatus::Empty),
            (id, _) if id != self.application_id => {
                Err(StoreError::Corrupt { path: path.into(), detail: "it is another program's database".into() })
            }
            (_, taken) if taken > self.version() => Err(StoreError::Newer {
                path: path.into(),
                found: clamp_version(taken),
                known: clamp_version(self.version()),
            }),
            (_, taken) if taken < self.version() => Ok(SchemaStatus::Older),
            _ => Ok(SchemaStatus::Current),
        }
    }

    /// Fails unless the file's schema is current.
    pub(crate) fn require(&self, conn: &Connection, path: &Path) -> Result<(), StoreError> {
        match self.status(conn, path)? {
            SchemaStatus::Current => Ok(()),
            SchemaStatus::Empty => Err(StoreError::Corrupt { path: path.into(), detail: "it is empty".into() }),
            SchemaStatus::Older => Err(StoreError::Older { path: path.into() }),
        }
    }

    /// Takes the missing steps, all or none. A file that a newer version has migrated meanwhile stays as it is. The
    /// caller holds the file's lock.
    pub(crate) fn migrate(&self, conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
        self.take_steps(conn).map_err(sqlite_error(path))
    }

    fn take_steps(&self, conn: &mut Connection) -> rusqlite::Result<()> {
        conn.pragma_update(None, "journal_mode", "WAL")?;
        let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let taken: usize = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if taken > self.steps.len() {
            return Ok(());
        }
        self.steps[taken..].iter().try_for_each(|step| transaction.execute_batch(step))?;
        transaction.pragma_update(None, "application_id", self.application_id)?;
        transaction.pragma_update(None, "user_version", self.version())?;
        transaction.commit()
    }

    /// The current version.
    pub(crate) fn version(&self) -> i64 {
        i64::try_from(self.steps.len()).unwrap_or(i64::MAX)
    }
}

fn clamp_version(version: i64) -> u32 {
    u32::try_from(version).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect;

    const MAKE: &str = "CREATE TABLE a (x); INSERT INTO a VALUES (1)";
    const ONE: FileSchema = FileSchema { application_id: 7, steps: &[MAKE] };
    const TWO: FileSchema = FileSchema { steps: &[MAKE, "ALTER TABLE a ADD COLUMN y DEFAULT 2"], ..ONE };
    const BROKEN: FileSchema = FileSchema { steps: &[MAKE, "CREATE TABLE b (x); CREATE TABLE a (x)"], ..ONE };

    #[test]
    fn only_the_missing_steps_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let mut conn = connect::create(&path).unwrap();
        assert_eq!(ONE.status(&conn, &path), Ok(SchemaStatus::Empty));
        ONE.migrate(&mut conn, &path).unwrap();
        assert_eq!(ONE.status(&conn, &path), Ok(SchemaStatus::Current));
        assert_eq!(TWO.status(&conn, &path), Ok(SchemaStatus::Older));
        assert_eq!(TWO.require(&conn, &path), Err(StoreError::Older { path: path.clone() }));
        TWO.migrate(&mut conn, &path).unwrap();
        TWO.migrate(&mut conn, &path).unwrap();
        let sum: i64 = conn.query_row("SELECT sum(x + y) FROM a", [], |row| row.get(0)).unwrap();
        assert_eq!((TWO.status(&conn, &path), sum), (Ok(SchemaStatus::Current), 3));
        ONE.migrate(&mut conn, &path).unwrap();
        assert_eq!(ONE.status(&conn, &path), Err(StoreError::Newer { path, found: 2, known: 1 }));
    }

    #[test]
    fn a_failed_step_leaves_the_file_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let mut conn = connect::create(&path).unwrap();
        ONE.migrate(&mut conn, &path).unwrap();
        assert!(BROKEN.migrate(&mut conn, &path).is_err());
        assert_eq!(ONE.status(&conn, &path), Ok(SchemaStatus::Current));
        assert!(conn.prepare("SELECT * FROM b").is_err());
    }
}
