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

use super::root::{FOLDER, WorkspaceRoot, open_beneath};

/// Maximum depth.
const DEEP: usize = 64;

/// The tolerance for adjustments of the clock. A change that is recorded after the clock was set back looks older than
/// it is.
const MOVED_NS: u64 = 5_000_000;
/// Between two reads of the clocks, the process may be suspended.
const TRIES: usize = 100;
const CLOSE_NS: i64 = 100_000;

/// A moment of the clock that change times use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMoment {
    seconds: i64,
    nanoseconds: i64,
    /// How far this clock was ahead of the monotonic one.
    ahead_ns: i64,
}

impl FileMoment {
    /// The change time of a file that was written just now.
    pub fn of(file: &Metadata) -> FileMoment {
        FileMoment { seconds: file.ctime(), nanoseconds: file.ctime_nsec(), ahead_ns: ahead() }
    }

    /// Whether the clock was set since, so that times cannot be compared.
    fn is_lost(&self) -> bool {
        ahead().abs_diff(self.ahead_ns) > MOVED_NS
    }

    /// In the form of change times.
    pub fn at(&self) -> (i64, i64) {
        (self.seconds, self.nanoseconds)
    }

    fn is_after(&self, found: &Stat) -> bool {
        changed_at(found) < self.at()
    }
}

/// Whether nothing in a folder changed since a moment, except in the folder `except` at its top. If the clock was set
/// since, the answer is unknown and the result is false.
pub fn is_untouched(folder: &Path, except: &OsStr, since: &FileMoment) -> io::Result<bool> {
    if since.is_lost() {
        return Ok(false);
    }
    let old = |found: &Stat| if since.is_after(found) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    Ok(FolderWalk::through(folder, except, |_path, found| old(found))?.is_continue())
}

/// A change in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The path below the folder; empty for the folder itself.
    pub path: PathBuf,
    /// Whether it is a folder, of which the entries or the metadata changed.
    pub is_folder: bool,
    /// The change time, in seconds and nanoseconds.
    pub at: (i64, i64),
}

/// The changes in a folder since a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// The changes.
    pub all: Vec<FileChange>,
    /// Whether repositories are in the folder, changed or not.
    pub has_repositories: bool,
}

/// The changes in a folder since a moment, except in the folder `except` at its top. None if the clock was set since,
/// or if the changed paths have more than `most` bytes.
pub fn changed_since(
    folder: &Path,
    except: &OsStr,
    since: &FileMoment,
    most: usize,
) -> io::Result<Option<FileChanges>> {
    if since.is_lost() {
        return Ok(None);
    }
    let (mut changes, mut bytes) = (FileChanges::default(), 0);
    let walked = FolderWalk::through(folder, except, |path, found| {
        changes.has_repositories |= path.file_name() == Some(OsStr::new(".git"));
        if !since.is_after(found) {
            bytes += path.as_os_str().len();
            let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            changes.all.push(FileChange { path: path.to_owned(), is_folder, at: changed_at(found) });
        }
        if bytes > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(walked.is_continue().then_some(changes))
}

/// A walk through a folder, until `see` stops it.
struct FolderWalk<'a, F> {
    device: u64,
    except: &'a OsStr,
    /// The current path below the folder, as bytes, which are cheap to extend and truncate.
    path: Vec<u8>,
    see: F,
}

impl<'a, F: FnMut(&Path, &Stat) -> ControlFlow<()>> FolderWalk<'a, F> {
    /// Walks the folder and everything in it. Another file system or too much depth is an error.
    fn through(folder: &Path, except: &'a OsStr, see: F) -> io::Result<ControlFlow<()>> {
        let top = WorkspaceRoot::open(folder)?.open_below(Path::new(""), FOLDER)?;
        let found = fstat(&top)?;
        let mut walk = FolderWalk { device: found.st_dev, except, path: Vec::new(), see };
        match (walk.see)(Path::new(""), &found) {
            ControlFlow::Continue(()) => walk.inside(&top, 0),
            stop => Ok(stop),
        }
    }

    fn inside(&mut self, folder: &OwnedFd, depth: usize) -> io::Result<ControlFlow<()>> {
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
            let seen = self.entry(folder, name, depth)?;
            self.path.truncate(above);
            if seen.is_break() {
                return Ok(seen);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn entry(&mut self, folder: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<ControlFlow<()>> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if found.st_dev != self.device || depth >= DEEP {
            let path = String::from_utf8_lossy(&self.path);
            return Err(io::Error::other(format!("{path} is too deep or on another file system")));
        }
        let seen = (self.see)(Path::new(OsStr::from_bytes(&self.path)), &found);
        if seen.is_break() || FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return Ok(seen);
        }
        self.inside(&open_beneath(folder, name, FOLDER, Mode::empty())?, depth + 1)
    }
}

fn changed_at(found: &Stat) -> (i64, i64) {
    (found.st_ctime, i64::try_from(found.st_ctime_nsec).unwrap_or(i64::MAX))
}

/// How many nanoseconds the clock is ahead of the monotonic one.
fn ahead() -> i64 {
    let mut ahead = 0;
    for _ in 0..TRIES {
        let before = nanoseconds(clock_gettime(ClockId::Monotonic));
        let now = nanoseconds(clock_gettime(ClockId::Realtime));
        ahead = now.saturating_sub(before);
        if nanoseconds(clock_gettime(ClockId::Monotonic)).saturating_sub(before) < CLOSE_NS {
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

    /// This moment, when all that was written before is older.
    fn now(folder: &Path, after: &Path) -> FileMoment {
        let (mark, last) = (folder.join("mark"), fs::symlink_metadata(after).unwrap());
        loop {
            fs::write(&mark, "").unwrap();
            let found = fs::metadata(&mark).unwrap();
            if (found.ctime(), found.ctime_nsec()) > (last.ctime(), last.ctime_nsec()) {
                return FileMoment::of(&found);
            }
        }
    }

    #[test]
    fn whatever_changes_in_a_folder_is_seen() {
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
            assert!(is_untouched(&top, OsStr::new(".git"), &since).unwrap(), "before: {what}");
            change(&top);
            assert!(!is_untouched(&top, OsStr::new(".git"), &since).unwrap(), "{what}");
        }
    }

    #[test]
    fn after_the_clock_was_set_nothing_is_taken_for_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        fs::create_dir(&top).unwrap();
        let since = now(folder.path(), &top);
        assert!(is_untouched(&top, OsStr::new(".git"), &since).unwrap());
        let set = FileMoment { ahead_ns: since.ahead_ns + 1_000_000_000, ..since };
        assert!(!is_untouched(&top, OsStr::new(".git"), &set).unwrap());
    }
}
