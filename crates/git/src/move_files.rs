//! Replaces files of a work tree by new ones, one by one, without losing any of the user's.
//!
//! Each file is swapped with its successor in one step of the file system, and examined after that: what the user saved
//! until the last moment is in the file that was moved away. If a file has changed since it was found to be as
//! committed, all files are restored. The old files are kept until everything is in place.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::changes::PathChange;

/// The note that lists files which could not be restored.
const KEPT_NOTE: &str = "BOSUN-KEPT";

/// A replacement of files by new ones.
#[derive(Debug)]
pub(crate) struct FileMover {
    /// The top of the work tree.
    top: PathBuf,
    /// Our folder below the top: `new` contains the new files, and `old` gets the ones moved away.
    landing_dir: PathBuf,
    changes: Vec<PathChange>,
    /// The state of each file that is replaced, as recorded before.
    recorded: BTreeMap<PathBuf, FileState>,
    /// The files moved so far.
    moved: Vec<MovedFiles>,
}

/// The state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    version: FileVersion,
    digest: [u8; 32],
}

/// The metadata that reveals a write to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileVersion {
    inode: u64,
    size: u64,
    mode: u32,
    modified: (i64, i64),
}

#[derive(Debug)]
struct MovedFiles {
    path: PathBuf,
    /// The path of the file that was moved away.
    old_path: Option<PathBuf>,
    /// The file that was put in its place.
    put_in_place: Option<FileVersion>,
}

/// Why the files were not replaced.
#[derive(Debug)]
pub(crate) enum MoveError {
    /// These were changed meanwhile, or the user's version of them could not be restored.
    ChangedMeanwhile(Vec<PathBuf>),
    /// A file could not be moved.
    File(PathBuf, io::Error),
}

impl FileMover {
    /// Records the state of every file that is to be replaced.
    pub(crate) fn record(top: PathBuf, aside: PathBuf, changes: Vec<PathChange>) -> io::Result<FileMover> {
        let mut seen = BTreeMap::new();
        for change in changes.iter().filter(|change| change.old.as_ref().is_some_and(|old| !old.is_submodule())) {
            if let Some(state) = FileState::read(&top.join(&change.path))? {
                seen.insert(change.path.clone(), state);
            }
        }
        Ok(FileMover { top, landing_dir: aside, changes, recorded: seen, moved: Vec::new() })
    }

    /// Puts every new file in place, or leaves all of them as they were.
    pub(crate) fn replace_all(&mut self) -> Result<(), MoveError> {
        let changes = std::mem::take(&mut self.changes);
        let removed = changes.iter().filter(|change| change.old.is_some() && !self.is_replaced(change));
        let placed = changes.iter().filter(|change| change.new.is_some() || self.is_replaced(change));
        let moved = removed.map(|change| (change, false)).chain(placed.map(|change| (change, true)));
        let steps: Vec<(&PathChange, bool)> = moved.collect();
        for (change, is_placed) in steps {
            let step = if is_placed { self.put(change) } else { self.move_away(change) };
            if let Err(unmoved) = step {
                return Err(self.restore_all(unmoved));
            }
        }
        Ok(())
    }

    /// The files that were written after they were moved away, through an open handle.
    pub(crate) fn written_since(&self) -> Vec<PathBuf> {
        let changed = self.moved.iter().filter(|done| {
            let now = done.old_path.as_ref().and_then(|kept| FileVersion::of(&self.top.join(kept)).ok().flatten());
            done.old_path.is_some() && now.as_ref() != self.recorded.get(&done.path).map(|seen| &seen.version)
        });
        changed.map(|done| done.path.clone()).collect()
    }

    /// Restores all files.
    pub(crate) fn restore_all(&mut self, unmoved: MoveError) -> MoveError {
        let (mut unrestored, mut restored) = (Vec::new(), Vec::new());
        while let Some(done) = self.moved.pop() {
            match self.restore_one(&done) {
                Ok(()) => restored.push(done),
                Err(error) => {
                    tracing::warn!(path = %done.path.display(), %error, "cannot restore a file");
                    unrestored.push(done.path);
                }
            }
        }
        unrestored.extend(restored.iter().filter(|done| self.was_written_into(done)).map(|done| done.path.clone()));
        if !unrestored.is_empty() {
            self.note_kept(&unrestored);
        }
        match unmoved {
            MoveError::ChangedMeanwhile(mut paths) => {
                paths.extend(unrestored);
                paths.sort();
                paths.dedup();
                MoveError::ChangedMeanwhile(paths)
            }
            file @ MoveError::File(..) if unrestored.is_empty() => file,
            MoveError::File(..) => MoveError::ChangedMeanwhile(unrestored),
        }
    }

    /// Removes the old files. A version that was written at the last moment is restored as the user's change.
    pub(crate) fn remove_old_files(self) {
        for path in self.written_since() {
            if let Some(kept) = self.moved.iter().find(|done| done.path == path).and_then(|done| done.old_path.as_ref())
            {
                let restored =
                    host::swap_below(&self.top, kept, &path).or_else(|_| host::move_below(&self.top, kept, &path));
                tracing::warn!(path = %path.display(), is_back = restored.is_ok(), "a file was saved at the last moment");
                if restored.is_err() {
                    return;
                }
            }
        }
        remove(&self.top, &self.landing_dir);
    }

    /// Leaves a note in the folder of old files, which keeps the folder.
    fn note_kept(&self, unrestored: &[PathBuf]) {
        let names: String = unrestored.iter().map(|path| format!("{}\n", path.display())).collect();
        let note = self.top.join(&self.landing_dir).join("old").join(KEPT_NOTE);
        if let Err(error) = fs::write(&note, names) {
            tracing::warn!(path = %note.display(), %error, "cannot write the note about files that were not restored");
        }
    }

    fn is_replaced(&self, change: &PathChange) -> bool {
        match (&change.old, &change.new) {
            (Some(old), Some(new)) => {
                !old.is_submodule() && !new.is_submodule() && self.recorded.contains_key(&change.path)
            }
            _ => false,
        }
    }

    /// Moves away a file without a successor of its kind.
    fn move_away(&mut self, change: &PathChange) -> Result<(), MoveError> {
        let failed = |error| MoveError::File(change.path.clone(), error);
        if change.old.as_ref().is_some_and(|old| old.is_submodule()) {
            // One with files in it must not be removed.
            let _stays = fs::remove_dir(self.top.join(&change.path));
            return Ok(());
        }
        let Some(seen) = self.recorded.get(&change.path).cloned() else { return Ok(()) };
        let kept = self.landing_dir.join("old").join(&change.path);
        self.make_parents(&kept).map_err(failed)?;
        match host::move_below(&self.top, &change.path, &kept) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(MoveError::ChangedMeanwhile(vec![change.path.clone()]));
            }
            Err(error) => return Err(failed(error)),
        }
        self.moved.push(MovedFiles { path: change.path.clone(), old_path: Some(kept.clone()), put_in_place: None });
        self.check_unchanged(&change.path, &kept, &seen)?;
        self.remove_empty_folders(change.path.parent());
        Ok(())
    }

    /// Puts a new file in place.
    fn put(&mut self, change: &PathChange) -> Result<(), MoveError> {
        let failed = |error| MoveError::File(change.path.clone(), error);
        if change.new.as_ref().is_some_and(|new| new.is_submodule()) {
            return self.make_folder(&change.path).map_err(failed);
        }
        let new = self.landing_dir.join("new").join(&change.path);
        let Some(mut put) = FileVersion::of(&self.top.join(&new)).map_err(failed)? else {
            // The user's settings exclude it from the work tree.
            return Ok(());
        };
        if !self.is_replaced(change) {
            self.remove_folders_without_files(&change.path);
            self.make_parents(&change.path).map_err(failed)?;
            let moved = host::move_below(&self.top, &new, &change.path);
            moved.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => MoveError::ChangedMeanwhile(vec![change.path.clone()]),
                _ => failed(error),
            })?;
            self.moved.push(MovedFiles { path: change.path.clone(), old_path: None, put_in_place: Some(put) });
            return Ok(());
        }
        let Some(seen) = self.recorded.get(&change.path).cloned() else { return Ok(()) };
        if change.old.as_ref().map(|old| &old.mode) == change.new.as_ref().map(|new| &new.mode)
            && seen.version.is_file()
        {
            put.mode = seen.version.mode;
            set_mode(&self.top.join(&new), put.mode).map_err(failed)?;
        }
        let kept = self.exchange(&change.path, &new).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists => {
                MoveError::ChangedMeanwhile(vec![change.path.clone()])
            }
            _ => failed(error),
        })?;
        self.moved.push(MovedFiles {
            path: change.path.clone(),
            old_path: Some(kept.clone()),
            put_in_place: Some(put),
        });
        self.check_unchanged(&change.path, &kept, &seen)
    }

    /// Swaps a file and its successor; returns the path of the old one.
    fn exchange(&self, path: &Path, new: &Path) -> io::Result<PathBuf> {
        match host::swap_below(&self.top, path, new) {
            Ok(()) => return Ok(new.to_owned()),
            // Not every file system can swap files.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
            Err(error) => return Err(error),
        }
        let kept = self.landing_dir.join("old").join(path);
        self.make_parents(&kept)?;
        host::move_below(&self.top, path, &kept)?;
        match host::move_below(&self.top, new, path) {
            Ok(()) => Ok(kept),
            Err(error) => {
                // If the user saved it at this moment, that version stays; the previous one stays in our folder.
                let _taken = host::move_below(&self.top, &kept, path);
                Err(error)
            }
        }
    }

    fn check_unchanged(&self, path: &Path, kept: &Path, seen: &FileState) -> Result<(), MoveError> {
        match FileState::read(&self.top.join(kept)) {
            Ok(Some(found)) if found == *seen => Ok(()),
            Ok(_) => Err(MoveError::ChangedMeanwhile(vec![path.to_owned()])),
            Err(error) => Err(MoveError::File(path.to_owned(), error)),
        }
    }

    fn restore_one(&self, done: &MovedFiles) -> io::Result<()> {
        let now = FileVersion::of(&self.top.join(&done.path))?;
        match (&done.old_path, &done.put_in_place) {
            // A newer version by the user stays.
            (_, Some(put)) if now.as_ref().is_some_and(|now| now != put) => {
                Err(io::Error::other("it was changed after it was put in place"))
            }
            (Some(kept), Some(put)) if now.is_some() => self.swap_back(&done.path, kept, put),
            (Some(kept), _) => {
                self.make_parents(&done.path)?;
                host::move_below(&self.top, kept, &done.path)
            }
            (None, Some(_)) if now.is_some() => {
                fs::remove_file(self.top.join(&done.path))?;
                self.remove_empty_folders(done.path.parent());
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// Swaps a new file and its old version again. A version that the user saved between the check and the swap is put
    /// back, and so is every version saved meanwhile.
    fn swap_back(&self, path: &Path, kept: &Path, put: &FileVersion) -> io::Result<()> {
        let aside = || FileVersion::of(&self.top.join(kept));
        let mut placed = aside()?;
        if let Err(error) = host::swap_below(&self.top, path, kept) {
            tracing::debug!(%error, "this file system cannot swap files");
            let new = self.landing_dir.join("undone").join(path);
            self.make_parents(&new)?;
            host::move_below(&self.top, path, &new)?;
            return host::move_below(&self.top, kept, path);
        }
        let mut displaced = aside()?;
        if displaced.as_ref() == Some(put) {
            return Ok(());
        }
        loop {
            host::swap_below(&self.top, path, kept)?;
            let next = aside()?;
            if next == placed {
                return Err(io::Error::other("it was saved while it was restored"));
            }
            (placed, displaced) = (displaced, next);
        }
    }

    /// Whether the user wrote into one of our files through an open handle while it was removed again; the written
    /// version is put in place.
    fn was_written_into(&self, done: &MovedFiles) -> bool {
        let (Some(kept), Some(put)) = (&done.old_path, &done.put_in_place) else { return false };
        let now = FileVersion::of(&self.top.join(kept)).ok().flatten();
        now.is_some_and(|now| now != *put) && host::swap_below(&self.top, &done.path, kept).is_ok()
    }

    fn make_parents(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if parent != Path::new("") => self.make_folder(parent),
            Some(_) | None => Ok(()),
        }
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        host::make_below(&self.top, folder).map(|_path| ())
    }

    /// Removes empty folders, from this one upwards.
    fn remove_empty_folders(&self, folder: Option<&Path>) {
        for folder in folder.into_iter().flat_map(Path::ancestors).filter(|folder| *folder != Path::new("")) {
            if fs::remove_dir(self.top.join(folder)).is_err() {
                return;
            }
        }
    }

    /// Removes a folder that contains only folders.
    fn remove_folders_without_files(&self, path: &Path) {
        fn sweep(folder: &Path) {
            if fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                entries.for_each(|entry| sweep(&entry.path()));
                // A folder with a file stays, and is in the way.
                let _stays = fs::remove_dir(folder);
            }
        }
        sweep(&self.top.join(path));
    }
}

impl FileState {
    /// The current state of a file, if it exists.
    fn read(path: &Path) -> io::Result<Option<FileState>> {
        let Some(stamp) = FileVersion::of(path)? else { return Ok(None) };
        let mut hash = Sha256::new();
        if stamp.is_file() {
            let mut file = fs::File::open(path)?;
            let mut buffer = vec![0; 64 << 10];
            loop {
                match file.read(&mut buffer)? {
                    0 => break,
                    n => hash.update(&buffer[..n]),
                }
            }
        } else if let Ok(target) = fs::read_link(path) {
            hash.update(target.as_os_str().as_bytes());
        }
        Ok(Some(FileState { version: stamp, digest: hash.finalize().into() }))
    }
}

impl FileVersion {
    fn of(path: &Path) -> io::Result<Option<FileVersion>> {
        match fs::symlink_metadata(path) {
            Ok(found) => Ok(Some(FileVersion {
                inode: found.ino(),
                size: found.size(),
                mode: found.mode(),
                modified: (found.mtime(), found.mtime_nsec()),
            })),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777))
}

/// Whether a folder contains a file at any depth.
pub(crate) fn has_files(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !entry.file_type().is_ok_and(|kind| kind.is_dir()) || has_files(&entry.path()))
}

fn remove(top: &Path, aside: &Path) {
    if let Err(error) = host::remove_below(top, aside) {
        tracing::info!(path = %aside.display(), %error, "cannot remove the landing folder");
    }
}
