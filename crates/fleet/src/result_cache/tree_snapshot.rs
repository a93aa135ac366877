//! The files of a workspace at one moment, each read once for all todos together.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tools::{WorkspaceEntry, WorkspaceEntryKind, list_workspace};

use super::content_hash::{ContentHash, ContentHasher};
use super::patterns::FilePatterns;

/// The most files that are hashed.
const MAX_FILES: usize = 200_000;

/// The most bytes that are hashed, of all files together.
const MAX_BYTES: u64 = 16 << 30;

/// The bytes of a file that are read at once.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// The files of a workspace at one moment.
#[derive(Debug, Clone, Default)]
pub struct TreeSnapshot {
    /// Paths below the workspace and their content hashes, sorted by path.
    files: Vec<(Vec<u8>, ContentHash)>,
    /// The hash of all files together.
    all_files: Option<ContentHash>,
}

/// Why there is no snapshot of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeSnapshotError {
    /// The workspace has too many files.
    #[error("the workspace has more than {MAX_FILES} files; exclude generated files with .gitignore")]
    TooManyFiles,
    /// The files together are too large.
    #[error("the workspace has more than {} GiB; exclude generated files with .gitignore", MAX_BYTES >> 30)]
    TooLarge,
    /// The scan failed unexpectedly.
    #[error("the workspace's files could not be read")]
    ScanFailed,
}

impl TreeSnapshot {
    /// Reads every file of a workspace, except those below the paths `excluded`. It blocks the thread.
    pub fn capture(workspace: &Path, excluded: Vec<PathBuf>) -> Result<TreeSnapshot, TreeSnapshotError> {
        let (mut files, mut bytes_left) = (Vec::new(), MAX_BYTES);
        for entry in list_workspace(workspace, excluded) {
            let Ok(relative) = entry.path.strip_prefix(workspace) else { continue };
            if files.len() == MAX_FILES {
                return Err(TreeSnapshotError::TooManyFiles);
            }
            files.push((relative.as_os_str().as_bytes().to_vec(), hash_entry(&entry, &mut bytes_left)?));
        }
        Ok(TreeSnapshot::from_files(files))
    }

    /// A snapshot of these files.
    pub(super) fn from_files(mut files: Vec<(Vec<u8>, ContentHash)>) -> TreeSnapshot {
        files.sort();
        let whole = Some(hash_files(files.iter()));
        TreeSnapshot { files, all_files: whole }
    }

    /// The state of the files that match these patterns, one hash per pattern; of all files if there is no pattern.
    pub(super) fn state(&self, patterns: &FilePatterns) -> String {
        if patterns.is_empty() {
            return self.all_files.map(ContentHash::short).unwrap_or_default();
        }
        let states: Vec<String> = patterns.select(&self.files).map(|files| hash_files(files).short()).collect();
        states.join(",")
    }
}

/// The patterns whose files have changed.
pub(super) fn changed_patterns(patterns: &FilePatterns, before: &str, now: &str) -> Vec<String> {
    let pairs = before.split(',').zip(now.split(',')).zip(patterns.sources());
    pairs.filter(|((before, now), _)| before != now).map(|(_, pattern)| pattern.to_owned()).collect()
}

fn hash_files<'a>(files: impl Iterator<Item = &'a (Vec<u8>, ContentHash)>) -> ContentHash {
    files.fold(ContentHasher::new("files"), |hasher, (path, file)| hasher.bytes(path).content_hash(*file)).finish()
}

/// Hashes an entry. An unreadable entry has its own hash, so that it counts as changed when it becomes readable.
fn hash_entry(entry: &WorkspaceEntry, bytes_left: &mut u64) -> Result<ContentHash, TreeSnapshotError> {
    let unreadable = || ContentHasher::new("unreadable").finish();
    Ok(match entry.kind {
        WorkspaceEntryKind::File => match hash_file(&entry.path, bytes_left) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(TreeSnapshotError::TooLarge),
            Err(_unreadable) => unreadable(),
        },
        WorkspaceEntryKind::Link => match fs::read_link(&entry.path) {
            Ok(target) => ContentHasher::new("link").bytes(target.as_os_str().as_bytes()).finish(),
            Err(_unreadable) => unreadable(),
        },
        WorkspaceEntryKind::Other => ContentHasher::new("other").finish(),
        WorkspaceEntryKind::Unreadable => unreadable(),
    })
}

/// Hashes a file; returns nothing if it exceeds the remaining bytes.
fn hash_file(path: &Path, bytes_left: &mut u64) -> io::Result<Option<ContentHash>> {
    let Some(mut file) = host::open_plain(path).map_err(io::Error::other)? else {
        return Ok(Some(ContentHasher::new("gone").finish()));
    };
    let is_executable = file.metadata()?.permissions().mode() & 0o111 != 0;
    let mut hasher = ContentHasher::new("file").text(if is_executable { "executable" } else { "plain" });
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(hasher.finish())),
            Ok(read) => {
                let Some(rest) = bytes_left.checked_sub(read as u64) else { return Ok(None) };
                *bytes_left = rest;
                hasher.add_raw(buffer.get(..read).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
