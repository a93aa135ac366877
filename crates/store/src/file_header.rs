//! Inspects session files by their header only. Nothing is locked, written or created, so this works for any file, for
//! many files, and on a read-only disk.

use std::cmp::Ordering;
use std::io;
use std::path::Path;

use rusqlite::{Connection, ErrorCode};

use crate::connect;
use crate::schema::SESSION;

/// The size of SQLite's header.
const HEADER_BYTES: u64 = 100;

/// The status of a file, from its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderStatus {
    /// This version wrote it.
    Current,
    /// An older version wrote it; it is migrated when it is opened.
    Older,
    /// A newer version wrote it, in this format.
    Newer(u32),
    /// It has no header: nothing was written to it yet, or everything is still in its write-ahead log.
    Empty,
    /// It is not a session.
    NotSession,
}

/// The versions of the session format and of SQLite, to compare two machines.
pub fn sqlite_version() -> (i64, &'static str) {
    (SESSION.version(), rusqlite::version())
}

/// Inspects a session's file. SQLite reads it, since closing another descriptor of the file would drop the locks of this
/// process's connections to it.
pub fn inspect_header(path: &Path) -> io::Result<HeaderStatus> {
    host::check_readable(path)?;
    // SQLite takes a file without a whole header as a new one.
    if (1..HEADER_BYTES).contains(&std::fs::metadata(path)?.len()) {
        return Ok(HeaderStatus::NotSession);
    }
    let number = |conn: &Connection, name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let numbers = |conn: Connection| Ok((number(&conn, "application_id")?, number(&conn, "user_version")?));
    match connect::open_unlocked(path).and_then(numbers) {
        Ok((id, version)) => Ok(header_status(id, version)),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => Ok(HeaderStatus::NotSession),
        Err(error) => Err(io::Error::other(error)),
    }
}

fn header_status(application_id: i64, version: i64) -> HeaderStatus {
    // Before the first checkpoint, a new file has SQLite's header but not Bosun's values.
    if (application_id, version) == (0, 0) {
        return HeaderStatus::Empty;
    }
    match u32::try_from(version) {
        Ok(newer) if application_id == SESSION.application_id => match version.cmp(&SESSION.version()) {
            Ordering::Less => HeaderStatus::Older,
            Ordering::Equal => HeaderStatus::Current,
            Ordering::Greater => HeaderStatus::Newer(newer),
        },
        Ok(_) | Err(_) => HeaderStatus::NotSession,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The status of a file that SQLite wrote with these values.
    fn status(application_id: i64, version: i64) -> HeaderStatus {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.db");
        let conn = connect::create(&path).unwrap();
        conn.pragma_update(None, "journal_mode", "WAL").unwrap();
        conn.pragma_update(None, "application_id", application_id).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
        assert_eq!(inspect_header(&path).unwrap(), HeaderStatus::Empty, "everything is in the write-ahead log");
        drop(conn);
        inspect_header(&path).unwrap()
    }

    #[test]
    fn the_status_of_a_file_follows_from_its_header() {
        let (application_id, current) = (SESSION.application_id, SESSION.version());
        assert_eq!(status(application_id, current), HeaderStatus::Current);
        assert_eq!(status(application_id, current - 1), HeaderStatus::Older);
        assert_eq!(status(application_id, current + 1), HeaderStatus::Newer(u32::try_from(current + 1).unwrap()));
        assert_eq!([status(0, 0), status(7, current)], [HeaderStatus::Empty, HeaderStatus::NotSession]);
    }

    #[test]
    fn a_file_that_is_no_database_and_one_that_is_cut_off_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("what?#%41.db");
        assert_eq!(inspect_header(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let mut conn = connect::create(&path).unwrap();
        assert_eq!(inspect_header(&path).unwrap(), HeaderStatus::Empty);
        SESSION.migrate(&mut conn, &path).unwrap();
        drop(conn);
        let whole = fs::read(&path).unwrap();
        // The rest of the file is not looked at: another process may be writing it.
        for (bytes, expected) in [
            (&whole[..], HeaderStatus::Current),
            (&whole[..4096], HeaderStatus::Current),
            (&whole[..50], HeaderStatus::NotSession),
            (&b"not a database at all".repeat(9)[..], HeaderStatus::NotSession),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(inspect_header(&path).unwrap(), expected, "{} bytes", bytes.len());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is created");
    }
}
