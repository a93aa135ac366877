//! What a session's file is, seen from outside: only its header is read. Nothing is locked, written or made, so this
//! can be asked of any file, of any number of them, and of a disk that takes no writes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::schema::SESSION;

/// What a file's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderStatus {
    /// It is as this version writes it.
    Current,
    /// An older version wrote it; it is brought to today's form when it is opened.
    Older,
    /// A newer version wrote it, in this form.
    Newer(u32),
    /// It has no header: nothing was written to it yet, or all of it is still in its log.
    Empty,
    /// It is not a session.
    NotSession,
}

/// The form of sessions and the version of SQLite, for people who compare two machines.
pub fn sqlite_version() -> (i64, &'static str) {
    (SESSION.version(), rusqlite::version())
}

/// Looks at a session's file.
pub fn inspect_header(path: &Path) -> io::Result<HeaderStatus> {
    let mut header = Vec::new();
    File::open(path)?.take(100).read_to_end(&mut header)?;
    Ok(of(&header))
}

fn of(header: &[u8]) -> HeaderStatus {
    if header.is_empty() {
        return HeaderStatus::Empty;
    }
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    // As long as its log was never folded into it, a new file has SQLite's header and nothing of ours.
    match (header.starts_with(b"SQLite format 3\0"), number(68), number(60)) {
        (true, Some(id), Some(form)) if i64::from(id) == SESSION.application_id => {
            match i64::from(form).cmp(&SESSION.version()) {
                std::cmp::Ordering::Less => HeaderStatus::Older,
                std::cmp::Ordering::Equal => HeaderStatus::Current,
                std::cmp::Ordering::Greater => HeaderStatus::Newer(form),
            }
        }
        (true, Some(0), Some(0)) => HeaderStatus::Empty,
        _ => HeaderStatus::NotSession,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(id: u32, form: u32) -> Vec<u8> {
        let mut header = [b"SQLite format 3\0".to_vec(), vec![0; 84]].concat();
        header[68..72].copy_from_slice(&id.to_be_bytes());
        header[60..64].copy_from_slice(&form.to_be_bytes());
        header
    }

    #[test]
    fn a_header_tells_what_a_file_is() {
        let ours = u32::try_from(SESSION.application_id).unwrap();
        let today = u32::try_from(SESSION.version()).unwrap();
        assert_eq!(of(&header(ours, today)), HeaderStatus::Current);
        assert_eq!(of(&header(ours, today - 1)), HeaderStatus::Older);
        assert_eq!(of(&header(ours, today + 1)), HeaderStatus::Newer(today + 1));
        assert_eq!([of(&[]), of(&header(0, 0))], [HeaderStatus::Empty, HeaderStatus::Empty]);
        for other in [header(7, today), header(ours, today)[..50].to_vec(), b"not a database at all".repeat(9)] {
            assert_eq!(of(&other), HeaderStatus::NotSession);
        }
    }
}
