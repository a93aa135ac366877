//! The number of committed events of a session and a digest of them all, in a small file next to the database.
//!
//! SQLite reads its write-ahead log up to the first damaged page and treats the rest as never written. So the digest is
//! written to a separate file after each commit, without waiting for the disk. After a power cut it may cover fewer
//! events than the log, never more.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::StoreError;
use crate::error::io_error;

/// The digest of the log up to one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogDigest {
    /// The number of that event.
    pub(crate) seq: u64,
    digest: [u8; 32],
}

impl LogDigest {
    /// The digest of an empty log.
    pub(crate) const EMPTY: LogDigest = LogDigest { seq: 0, digest: [0; 32] };

    /// The digest with one more event.
    pub(crate) fn with(self, seq: u64, at: u64, task: &str, body: &str) -> LogDigest {
        let mut digest = Sha256::new();
        digest.update(self.digest);
        digest.update(seq.to_le_bytes());
        digest.update(at.to_le_bytes());
        digest.update(task);
        digest.update([0]);
        digest.update(body);
        LogDigest { seq, digest: digest.finalize().into() }
    }
}

/// Bytes of a written digest: the number of the last event, and the hash.
const DIGEST_FILE_BYTES: usize = 40;

/// The file that holds the digest, `session.digest`.
#[derive(Debug)]
pub(crate) struct LogDigestFile {
    path: PathBuf,
    file: File,
}

impl LogDigestFile {
    /// Opens the digest of the session whose database is at `db`, creating an empty file if there is none.
    pub(crate) fn open(db: &Path) -> Result<LogDigestFile, StoreError> {
        let path = digest_path(db);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        Ok(LogDigestFile { file: file.map_err(io_error(&path))?, path })
    }

    /// Reads the digest; none if the file is empty.
    pub(crate) fn read(&self) -> Result<Option<LogDigest>, StoreError> {
        let mut bytes = [0; DIGEST_FILE_BYTES];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {
                let (seq, digest) = bytes.split_at(8);
                let seq = seq.try_into().map(u64::from_le_bytes).unwrap_or_default();
                Ok(digest.try_into().ok().map(|digest| LogDigest { seq, digest }))
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(io_error(&self.path)(error)),
        }
    }

    /// Writes the digest of the committed events.
    pub(crate) fn write(&self, log_digest: LogDigest) -> io::Result<()> {
        let mut bytes = [0; DIGEST_FILE_BYTES];
        bytes[..8].copy_from_slice(&log_digest.seq.to_le_bytes());
        bytes[8..].copy_from_slice(&log_digest.digest);
        self.file.write_all_at(&bytes, 0)
    }

    /// Whether the session's folder was removed since the file was opened.
    pub(crate) fn is_removed(&self) -> bool {
        host::is_removed(&self.file)
    }
}

/// The number of the last event that was committed to the database at `db`, if known. Creates nothing.
pub(crate) fn committed_seq(db: &Path) -> Option<u64> {
    let mut bytes = [0; 8];
    File::open(digest_path(db)).ok()?.read_exact_at(&mut bytes, 0).ok()?;
    Some(u64::from_le_bytes(bytes))
}

fn digest_path(db: &Path) -> PathBuf {
    db.with_extension("digest")
}
