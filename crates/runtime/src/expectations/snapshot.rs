//! Snapshots of the files in a workspace, which reveal changes by any process.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::files::compile_patterns;

/// Maximum number of files checked for the patterns of one task.
const MAX_DECLARED_FILES: usize = 50_000;

/// Maximum time of that check.
const MAX_DECLARED_TIME: Duration = Duration::from_secs(2);

/// Maximum number of files of a workspace that is checked before and after a command. A larger one is not checked: a
/// command should not wait for that.
const MAX_FOLDER_FILES: usize = 2_000;

/// Maximum time of each check.
const MAX_FOLDER_TIME: Duration = Duration::from_millis(100);

/// Distinguishes two states of a file. No program can set back the change time of its inode.
type SnapshotStamp = (i64, i64, i64, i64, u64, u64);

/// Files by their paths in the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileSnapshot(BTreeMap<PathBuf, SnapshotStamp>);

impl FileSnapshot {
    /// The files that match patterns. A pattern that names a single file is looked up directly.
    pub(crate) fn of_patterns(folder: &Path, files: &[String]) -> FileSnapshot {
        let mut snapshot = FileSnapshot::default();
        let (globs, paths): (Vec<String>, Vec<String>) = files.iter().cloned().partition(|file| is_pattern(file));
        for file in paths.iter().filter(|file| is_inside(file)) {
            snapshot.add(folder, &folder.join(file));
        }
        let matchers = compile_patterns(&globs).unwrap_or_default();
        if !matchers.is_empty() {
            tools::for_each_file(folder, MAX_DECLARED_FILES, MAX_DECLARED_TIME, |path| {
                let is_match = |relative: &Path| matchers.iter().any(|pattern| pattern.is_match(relative));
                if path.strip_prefix(folder).is_ok_and(is_match) {
                    snapshot.add(folder, path);
                }
            });
        }
        snapshot
    }

    /// All files of a small workspace; `None` for a larger one.
    pub(crate) fn of_small_folder(folder: &Path) -> Option<FileSnapshot> {
        let (mut snapshot, mut count) = (FileSnapshot::default(), 0);
        tools::for_each_file(folder, MAX_FOLDER_FILES + 1, MAX_FOLDER_TIME, |path| {
            count += 1;
            snapshot.add(folder, path);
        });
        (count <= MAX_FOLDER_FILES).then_some(snapshot)
    }

    /// The files created, changed or removed between two snapshots.
    pub(crate) fn changes<'a>(&'a self, after: &'a FileSnapshot) -> impl Iterator<Item = &'a Path> {
        let written = after.0.iter().filter(|(path, stamp)| self.0.get(*path) != Some(stamp));
        let removed = self.0.keys().filter(|path| !after.0.contains_key(*path));
        written.map(|(path, _)| path.as_path()).chain(removed.map(PathBuf::as_path))
    }

    fn add(&mut self, folder: &Path, path: &Path) {
        let (Ok(relative), Ok(metadata)) = (path.strip_prefix(folder), path.symlink_metadata()) else { return };
        if !metadata.is_dir() {
            let (mtime, ctime) = ((metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec()));
            let stamp = (mtime.0, mtime.1, ctime.0, ctime.1, metadata.len(), metadata.ino());
            self.0.insert(relative.to_owned(), stamp);
        }
    }
}

/// Whether a pattern may match more than one file.
fn is_pattern(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{', '\\'])
}

fn is_inside(file: &str) -> bool {
    Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn created_changed_and_removed_files_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("out")).unwrap();
        for name in ["same.txt", "changed.txt", "gone.txt", "out/other.md"] {
            fs::write(path(name), "1").unwrap();
        }
        let files = ["*.txt", "out/new.md", "../outside", "/etc/passwd"].map(str::to_owned);
        let before =
            (FileSnapshot::of_patterns(folder.path(), &files), FileSnapshot::of_small_folder(folder.path()).unwrap());
        fs::write(path("changed.txt"), "22").unwrap();
        fs::remove_file(path("gone.txt")).unwrap();
        fs::write(path("out/new.md"), "1").unwrap();
        let after =
            (FileSnapshot::of_patterns(folder.path(), &files), FileSnapshot::of_small_folder(folder.path()).unwrap());
        let names = |all: Vec<&Path>| all.into_iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let changed = ["changed.txt", "out/new.md", "gone.txt"];
        assert_eq!(names(before.0.changes(&after.0).collect()), changed);
        assert_eq!(names(before.1.changes(&after.1).collect()), changed);
    }
}
