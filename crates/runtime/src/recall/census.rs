//! The files of a workspace as they are at a moment: each looked at once, for all todos together.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tools::{Listed, ListedKind, list_workspace};

use super::patterns::FilePatterns;
use super::sum::{Sum, Summing};

/// Most files that are counted, and most bytes of them.
const FILES: usize = 200_000;
const BYTES: u64 = 16 << 30;

/// Bytes of a file that are read at once.
const PIECE: usize = 64 * 1024;

/// The files of a workspace at a moment.
#[derive(Debug, Clone, Default)]
pub struct Census {
    /// Paths below the workspace and what is there, sorted by path.
    files: Vec<(Vec<u8>, Sum)>,
    whole: Option<Sum>,
}

/// Why the files of a workspace are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CensusError {
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

impl Census {
    /// Looks at every file of a workspace, but for what lies at the places `apart`. It reads everything, so it belongs
    /// on a thread of its own.
    pub fn take(workspace: &Path, apart: Vec<PathBuf>) -> Result<Census, CensusError> {
        let (mut files, mut left) = (Vec::new(), BYTES);
        for listed in list_workspace(workspace, apart) {
            let Ok(below) = listed.path.strip_prefix(workspace) else { continue };
            if files.len() == FILES {
                return Err(CensusError::Many);
            }
            files.push((below.as_os_str().as_bytes().to_vec(), look(&listed, &mut left)?));
        }
        Ok(Census::of(files))
    }

    /// A census of these files.
    pub(super) fn of(mut files: Vec<(Vec<u8>, Sum)>) -> Census {
        files.sort();
        let whole = Some(sum(files.iter()));
        Census { files, whole }
    }

    /// How the files are that fit these patterns, pattern by pattern; how all are when there is none.
    pub(super) fn state(&self, patterns: &FilePatterns) -> String {
        if patterns.is_empty() {
            return self.whole.map(Sum::short).unwrap_or_default();
        }
        let states: Vec<String> = patterns.select(&self.files).map(|files| sum(files).short()).collect();
        states.join(",")
    }
}

/// The patterns whose files are not as they were.
pub(super) fn changed(patterns: &FilePatterns, before: &str, now: &str) -> Vec<String> {
    let pairs = before.split(',').zip(now.split(',')).zip(patterns.written());
    pairs.filter(|((before, now), _)| before != now).map(|(_, written)| written.to_owned()).collect()
}

fn sum<'a>(files: impl Iterator<Item = &'a (Vec<u8>, Sum)>) -> Sum {
    files.fold(Summing::new("files"), |summing, (path, file)| summing.bytes(path).part(*file)).sum()
}

/// What is at a place. What cannot be read counts as that, so that it matters when it can be.
fn look(listed: &Listed, left: &mut u64) -> Result<Sum, CensusError> {
    let unreadable = || Summing::new("unreadable").sum();
    Ok(match listed.kind {
        ListedKind::File => match content(&listed.path, left) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(CensusError::Large),
            Err(_unreadable) => unreadable(),
        },
        ListedKind::Link => match fs::read_link(&listed.path) {
            Ok(target) => Summing::new("link").bytes(target.as_os_str().as_bytes()).sum(),
            Err(_unreadable) => unreadable(),
        },
        ListedKind::Other => Summing::new("other").sum(),
        ListedKind::Unreadable => unreadable(),
    })
}

/// What a file holds; none when that is more than is left to be read.
fn content(path: &Path, left: &mut u64) -> io::Result<Option<Sum>> {
    let Some(mut file) = host::open_plain(path).map_err(io::Error::other)? else {
        return Ok(Some(Summing::new("gone").sum()));
    };
    let runs = file.metadata()?.permissions().mode() & 0o111 != 0;
    let mut summing = Summing::new("file").text(if runs { "runs" } else { "rests" });
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(Some(summing.sum())),
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
