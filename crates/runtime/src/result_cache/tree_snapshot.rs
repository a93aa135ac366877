//! The files of a workspace as they are at a moment: each looked at once, for all todos together.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tools::{WorkspaceEntry, WorkspaceEntryKind, list_workspace};

use super::content_hash::{ContentHash, ContentHasher};
use super::patterns::FilePatterns;

/// Most files that are counted, and most bytes of them.
const FILES: usize = 200_000;
const BYTES: u64 = 16 << 30;

/// Bytes of a file that are read at once.
const PIECE: usize = 64 * 1024;

/// The files of a workspace at a moment.
#[derive(Debug, Clone, Default)]
pub struct TreeSnapshot {
    /// Paths below the workspace and what is there, sorted by path.
    files: Vec<(Vec<u8>, ContentHash)>,
    whole: Option<ContentHash>,
}

/// Why the files of a workspace are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeSnapshotError {
    /// There are too many.
    #[error("the workspace has more than {FILES} files; name what need not count in .gitignore")]
    Many,
    /// They are too large.
    #[error("the workspace has more than {} GiB; name what need not count in .gitignore", BYTES >> 30)]
    Large,
    /// Looking at them failed in a way that nobody foresaw.
    #[error("the workspace's files could not be looked at")]
    Broken,
}

impl TreeSnapshot {
    /// Looks at every file of a workspace, but for what lies at the places `apart`. It reads everything, so it belongs
    /// on a thread of its own.
    pub fn capture(workspace: &Path, apart: Vec<PathBuf>) -> Result<TreeSnapshot, TreeSnapshotError> {
        let (mut files, mut left) = (Vec::new(), BYTES);
        for listed in list_workspace(workspace, apart) {
            let Ok(below) = listed.path.strip_prefix(workspace) else { continue };
            if files.len() == FILES {
                return Err(TreeSnapshotError::Many);
            }
            files.push((below.as_os_str().as_bytes().to_vec(), hash_entry(&listed, &mut left)?));
        }
        Ok(TreeSnapshot::from_files(files))
    }

    /// A snapshot of these files.
    pub(super) fn from_files(mut files: Vec<(Vec<u8>, ContentHash)>) -> TreeSnapshot {
        files.sort();
        let whole = Some(hash_files(files.iter()));
        TreeSnapshot { files, whole }
    }

    /// How the files are that fit these patterns, pattern by pattern; how all are when there is none.
    pub(super) fn state(&self, patterns: &FilePatterns) -> String {
        if patterns.is_empty() {
            return self.whole.map(ContentHash::short).unwrap_or_default();
        }
        let states: Vec<String> = patterns.select(&self.files).map(|files| hash_files(files).short()).collect();
        states.join(",")
    }
}

/// The patterns whose files are not as they were.
pub(super) fn changed_patterns(patterns: &FilePatterns, before: &str, now: &str) -> Vec<String> {
    let pairs = before.split(',').zip(now.split(',')).zip(patterns.sources());
    pairs.filter(|((before, now), _)| before != now).map(|(_, written)| written.to_owned()).collect()
}

fn hash_files<'a>(files: impl Iterator<Item = &'a (Vec<u8>, ContentHash)>) -> ContentHash {
    files.fold(ContentHasher::new("files"), |summing, (path, file)| summing.bytes(path).part(*file)).finish()
}

/// What is at a place. What cannot be read counts as that, so that it matters when it can be.
fn hash_entry(listed: &WorkspaceEntry, left: &mut u64) -> Result<ContentHash, TreeSnapshotError> {
    let unreadable = || ContentHasher::new("unreadable").finish();
    Ok(match listed.kind {
        WorkspaceEntryKind::File => match hash_file(&listed.path, left) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(TreeSnapshotError::Large),
            Err(_unreadable) => unreadable(),
        },
        WorkspaceEntryKind::Link => match fs::read_link(&listed.path) {
            Ok(target) => ContentHasher::new("link").bytes(target.as_os_str().as_bytes()).finish(),
            Err(_unreadable) => unreadable(),
        },
        WorkspaceEntryKind::Other => ContentHasher::new("other").finish(),
        WorkspaceEntryKind::Unreadable => unreadable(),
    })
}

/// What a file holds; none when that is more than is left to be read.
fn hash_file(path: &Path, left: &mut u64) -> io::Result<Option<ContentHash>> {
    let Some(mut file) = host::open_plain(path).map_err(io::Error::other)? else {
        return Ok(Some(ContentHasher::new("gone").finish()));
    };
    let runs = file.metadata()?.permissions().mode() & 0o111 != 0;
    let mut summing = ContentHasher::new("file").text(if runs { "runs" } else { "rests" });
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(Some(summing.finish())),
            Ok(read) => {
                let Some(rest) = left.checked_sub(read as u64) else { return Ok(None) };
                *left = rest;
                summing.piece(piece.get(..read).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
