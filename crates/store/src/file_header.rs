//! Inspects session files by their header only. Nothing is locked, written or created, so this works for any file, for
//! many files, and on a read-only disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::schema::SESSION;

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

/// Inspects a session's file.
pub fn inspect_header(path: &Path) -> io::Result<HeaderStatus> {
    let mut header = Vec::new();
    File::open(path)?.take(100).read_to_end(&mut header)?;
    Ok(header_status(&header))
}

fn header_status(header: &[u8]) -> HeaderStatus {
    if header.is_empty() {
        return HeaderStatus::Empty;
    }
    let number_at = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    // Before the first checkpoint, a new file has SQLite's header but not Bosun's values.
    match (header.starts_with(b"SQLite format 3\0"), number_at(68), number_at(60)) {
        (true, Some(id), Some(version)) if i64::from(id) == SESSION.application_id => {
            match i64::from(version).cmp(&SESSION.version()) {
                std::cmp::Ordering::Less => HeaderStatus::Older,
                std::cmp::Ordering::Equal => HeaderStatus::Current,
                std::cmp::Ordering::Greater => HeaderStatus::Newer(version),
            }
        }
        (true, Some(0), Some(0)) => HeaderStatus::Empty,
        _ => HeaderStatus::NotSession,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(id: u32, version: u32) -> Vec<u8> {
        let mut header = [b"SQLite format 3\0".to_vec(), vec![0; 84]].concat();
        header[68..72].copy_from_slice(&id.to_be_bytes());
        header[60..64].copy_from_slice(&version.to_be_bytes());
        header
    }

    #[test]
    fn the_status_of_a_file_follows_from_its_header() {
        let application_id = u32::try_from(SESSION.application_id).unwrap();
        let current = u32::try_from(SESSION.version()).unwrap();
        assert_eq!(header_status(&header(application_id, current)), HeaderStatus::Current);
        assert_eq!(header_status(&header(application_id, current - 1)), HeaderStatus::Older);
        assert_eq!(header_status(&header(application_id, current + 1)), HeaderStatus::Newer(current + 1));
        assert_eq!([header_status(&[]), header_status(&header(0, 0))], [HeaderStatus::Empty, HeaderStatus::Empty]);
        for other in
            [header(7, current), header(application_id, current)[..50].to_vec(), b"not a database at all".repeat(9)]
        {
            assert_eq!(header_status(&other), HeaderStatus::NotSession);
        }
    }
}
