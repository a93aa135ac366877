//! Detects changes in a folder since a moment. The system records the time of every change to a file's content or
//! metadata, and to the names in a folder; unlike the modification time, a program cannot set it.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, Stat, fstat, statat};
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

use super::root::{FOLDER_FLAGS, WorkspaceRoot, open_beneath};

/// Maximum depth of folders.
const MAX_DEPTH: usize = 64;

/// How far the clock may have been adjusted. Beyond that, times cannot be compared: a change recorded after the clock
/// was set back looks older than it is.
const CLOCK_TOLERANCE_NS: u64 = 5_000_000;
/// How often both clocks are read. The process may be suspended between the two reads; then they are read again.
const MAX_CLOCK_READS: usize = 100;
/// How far apart the two reads of the monotonic clock may be.
const MAX_READ_GAP_NS: i64 = 100_000;

/// A moment on the clock that the file system uses for change times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMoment {
    seconds: i64,
    nanoseconds: i64,
    /// How many nanoseconds this clock was ahead of the monotonic one.
    ahead_ns: i64,
}

impl FileMoment {
    /// The change time of a file that was written just now.
    pub fn from_change_time(file: &Metadata) -> FileMoment {
        FileMoment { seconds: file.ctime(), nanoseconds: file.ctime_nsec(), ahead_ns: clock_lead_ns() }
    }

    /// Whether the clock was set since this moment, so that times cannot be compared.
    fn clock_was_set(&self) -> bool {
        clock_lead_ns().abs_diff(self.ahead_ns) > CLOCK_TOLERANCE_NS
    }

    /// The moment in seconds and nanoseconds, as files have it.
    pub fn timestamp(&self) -> (i64, i64) {
        (self.seconds, self.nanoseconds)
    }

    /// Whether the last change of a file was before this moment.
    fn is_after(&self, metadata: &Stat) -> bool {
        changed_at(metadata) < self.timestamp()
    }
}

/// Whether nothing in a folder changed since a moment. Its subfolder `except` is not checked. Returns false if the
/// clock was set since, because then the answer is unknown.
pub fn is_unchanged_since(folder: &Path, except: &OsStr, since: &FileMoment) -> io::Result<bool> {
    if since.clock_was_set() {
        return Ok(false);
    }
    let check = |found: &Stat| if since.is_after(found) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    Ok(FolderWalk::run(folder, except, |_path, found| check(found))?.is_continue())
}

/// A change in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The path below the folder; empty for the folder itself.
    pub path: PathBuf,
    /// Whether the path is a folder; then its entries or its metadata changed.
    pub is_folder: bool,
    /// The change time, in seconds and nanoseconds.
    pub changed_at: (i64, i64),
}

/// The changes in a folder since a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// The changes.
    pub all: Vec<FileChange>,
    /// Whether there are repositories in the folder, changed or not.
    pub has_repositories: bool,
}

/// Returns the changes in a folder since a moment, without those in its subfolder `except`. None if the clock was set
/// since, or if the changed paths have more than `max_path_bytes` bytes together.
pub fn changed_since(
    folder: &Path,
    except: &OsStr,
    since: &FileMoment,
    max_path_bytes: usize,
) -> io::Result<Option<FileChanges>> {
    if since.clock_was_set() {
        return Ok(None);
    }
    let (mut changes, mut bytes) = (FileChanges::default(), 0);
    let walked = FolderWalk::run(folder, except, |path, found| {
        changes.has_repositories |= path.file_name() == Some(OsStr::new(".git"));
        if !since.is_after(found) {
            bytes += path.as_os_str().len();
            let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            changes.all.push(FileChange { path: path.to_owned(), is_folder, changed_at: changed_at(found) });
        }
        if bytes > max_path_bytes { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(walked.is_continue().then_some(changes))
}

/// A walk through a folder that calls `see` for everything in it, until `see` stops it.
struct FolderWalk<'a, F> {
    /// The file system of the folder.
    device: u64,
    except: &'a OsStr,
    /// The current path relative to the folder, as bytes, which are cheap to extend and truncate.
    path: Vec<u8>,
    visit: F,
}

impl<'a, F: FnMut(&Path, &Stat) -> ControlFlow<()>> FolderWalk<'a, F> {
    /// Walks through the folder. Fails at a mount of another file system, and if folders are nested too deep.
    fn run(folder: &Path, except: &'a OsStr, see: F) -> io::Result<ControlFlow<()>> {
        let top = WorkspaceRoot::open(folder)?.open_below(Path::new(""), FOLDER_FLAGS)?;
        let found = fstat(&top)?;
        let mut walk = FolderWalk { device: found.st_dev, except, path: Vec::new(), visit: see };
        match (walk.visit)(Path::new(""), &found) {
            ControlFlow::Continue(()) => walk.walk_entries(&top, 0),
            stop => Ok(stop),
        }
    }

    fn walk_entries(&mut self, folder: &OwnedFd, depth: usize) -> io::Result<ControlFlow<()>> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || (depth == 0 && name == self.except) {
                continue;
            }
            let above = self.path.len();
            if above > 0 {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name.as_bytes());
            let seen = self.walk_entry(folder, name, depth)?;
            self.path.truncate(above);
            if seen.is_break() {
                return Ok(seen);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn walk_entry(&mut self, folder: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<ControlFlow<()>> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if found.st_dev != self.device || depth >= MAX_DEPTH {
            let path = String::from_utf8_lossy(&self.path);
            return Err(io::Error::other(format!("{path} is too deep or on another file system")));
        }
        let seen = (self.visit)(Path::new(OsStr::from_bytes(&self.path)), &found);
        if seen.is_break() || FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return Ok(seen);
        }
        self.walk_entries(&open_beneath(folder, name, FOLDER_FLAGS, Mode::empty())?, depth + 1)
    }
}

fn changed_at(metadata: &Stat) -> (i64, i64) {
    (metadata.st_ctime, i64::try_from(metadata.st_ctime_nsec).unwrap_or(i64::MAX))
}

/// How many nanoseconds the clock is ahead of the monotonic one.
fn clock_lead_ns() -> i64 {
    let mut ahead = 0;
    for _ in 0..MAX_CLOCK_READS {
        let before = nanoseconds(clock_gettime(ClockId::Monotonic));
        let now = nanoseconds(clock_gettime(ClockId::Realtime));
        ahead = now.saturating_sub(before);
        if nanoseconds(clock_gettime(ClockId::Monotonic)).saturating_sub(before) < MAX_READ_GAP_NS {
            break;
        }
    }
    ahead
}

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns the current moment, after waiting until the clock is past the last change of `after`.
    fn now(folder: &Path, after: &Path) -> FileMoment {
        let (mark, last) = (folder.join("mark"), fs::symlink_metadata(after).unwrap());
        loop {
            fs::write(&mark, "").unwrap();
            let found = fs::metadata(&mark).unwrap();
            if (found.ctime(), found.ctime_nsec()) > (last.ctime(), last.ctime_nsec()) {
                return FileMoment::from_change_time(&found);
            }
        }
    }

    #[test]
    fn every_kind_of_change_is_detected() {
        type Edit = fn(&Path);
        let changes: [(&str, Edit); 7] = [
            ("content", |top| fs::write(top.join("deep/a"), "b").unwrap()),
            ("mode", |top| {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
                fs::set_permissions(top.join("deep/a"), mode).unwrap();
            }),
            ("content, with its old time", |top| {
                let old = fs::metadata(top.join("deep/a")).unwrap().modified().unwrap();
                fs::write(top.join("deep/a"), "b").unwrap();
                let file = fs::File::options().write(true).open(top.join("deep/a")).unwrap();
                file.set_modified(old).unwrap();
            }),
            ("a new file", |top| fs::write(top.join("deep/b"), "").unwrap()),
            ("a new file at the top", |top| fs::write(top.join("b"), "").unwrap()),
            ("a removed file", |top| fs::remove_file(top.join("deep/a")).unwrap()),
            ("another name", |top| fs::rename(top.join("deep"), top.join("else")).unwrap()),
        ];
        for (what, change) in changes {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().join("top");
            fs::create_dir_all(top.join("deep")).unwrap();
            fs::create_dir_all(top.join(".git")).unwrap();
            fs::write(top.join("deep/a"), "a").unwrap();
            let since = now(folder.path(), &top.join("deep/a"));
            fs::write(top.join(".git/index"), "").unwrap();
            assert!(is_unchanged_since(&top, OsStr::new(".git"), &since).unwrap(), "before: {what}");
            change(&top);
            assert!(!is_unchanged_since(&top, OsStr::new(".git"), &since).unwrap(), "{what}");
        }
    }

    #[test]
    fn folder_counts_as_changed_after_the_clock_was_set() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        fs::create_dir(&top).unwrap();
        let since = now(folder.path(), &top);
        assert!(is_unchanged_since(&top, OsStr::new(".git"), &since).unwrap());
        let before_set = FileMoment { ahead_ns: since.ahead_ns + 1_000_000_000, ..since };
        assert!(!is_unchanged_since(&top, OsStr::new(".git"), &before_set).unwrap());
    }
}
