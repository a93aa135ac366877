//! Files of a work tree give way to new ones, one by one, and nothing of the user's is lost on the way.
//!
//! Each file changes places with its successor in one step of the file system, and is looked at after that: what the
//! user saved until the last moment is in the file that was taken away. If one is not what it was when it was found to be
//! as committed, all of them go back. The files that were taken away are kept until everything is in its place.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::changes::PathChange;

/// The note of files that could not be put back.
const KEPT: &str = "BOSUN-KEPT";

/// Files that give way to new ones.
#[derive(Debug)]
pub(crate) struct FileMover {
    /// The top of the work tree.
    top: PathBuf,
    /// The folder of ours below the top, in which `new` has the new files and `old` gets what is taken away.
    aside: PathBuf,
    changes: Vec<PathChange>,
    /// What each file was that must give way.
    seen: BTreeMap<PathBuf, FileState>,
    done: Vec<MovedFiles>,
}

/// What a file was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    stamp: FileVersion,
    digest: [u8; 32],
}

/// What tells that a file was written again.
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
    /// Where the file is that was taken away.
    kept: Option<PathBuf>,
    /// What was put in its place.
    put: Option<FileVersion>,
}

/// Why files stay as they are.
#[derive(Debug)]
pub(crate) enum MoveError {
    /// Somebody changed these meanwhile. Those of which the user's version could not be put back are with it.
    Saved(Vec<PathBuf>),
    /// A file could not be moved.
    File(PathBuf, io::Error),
}

impl FileMover {
    /// Looks at every file that must give way.
    pub(crate) fn look(top: PathBuf, aside: PathBuf, changes: Vec<PathChange>) -> io::Result<FileMover> {
        let mut seen = BTreeMap::new();
        for change in changes.iter().filter(|change| change.old.as_ref().is_some_and(|old| !old.is_repository())) {
            if let Some(found) = FileState::of(&top.join(&change.path))? {
                seen.insert(change.path.clone(), found);
            }
        }
        Ok(FileMover { top, aside, changes, seen, done: Vec::new() })
    }

    /// Puts every new file into its place, or leaves all of them as they were.
    pub(crate) fn go(&mut self) -> Result<(), MoveError> {
        let changes = std::mem::take(&mut self.changes);
        let leave = changes.iter().filter(|change| change.old.is_some() && !self.is_replaced(change));
        let come = changes.iter().filter(|change| change.new.is_some() || self.is_replaced(change));
        let moved = leave.map(|change| (change, false)).chain(come.map(|change| (change, true)));
        let steps: Vec<(&PathChange, bool)> = moved.collect();
        for (change, comes) in steps {
            let step = if comes { self.put(change) } else { self.take(change) };
            if let Err(unmoved) = step {
                return Err(self.undo(unmoved));
            }
        }
        Ok(())
    }

    /// What was written since it was taken away, through a file that somebody held open.
    pub(crate) fn written_since(&self) -> Vec<PathBuf> {
        let changed = self.done.iter().filter(|done| {
            let now = done.kept.as_ref().and_then(|kept| FileVersion::of(&self.top.join(kept)).ok().flatten());
            done.kept.is_some() && now.as_ref() != self.seen.get(&done.path).map(|seen| &seen.stamp)
        });
        changed.map(|done| done.path.clone()).collect()
    }

    /// Puts everything back.
    pub(crate) fn undo(&mut self, unmoved: MoveError) -> MoveError {
        let (mut stay, mut back) = (Vec::new(), Vec::new());
        while let Some(done) = self.done.pop() {
            match self.undo_one(&done) {
                Ok(()) => back.push(done),
                Err(error) => {
                    tracing::warn!(path = %done.path.display(), %error, "a file could not be put back");
                    stay.push(done.path);
                }
            }
        }
        stay.extend(back.iter().filter(|done| self.was_written_into(done)).map(|done| done.path.clone()));
        if !stay.is_empty() {
            self.note_kept(&stay);
        }
        match unmoved {
            MoveError::Saved(mut paths) => {
                paths.extend(stay);
                paths.sort();
                paths.dedup();
                MoveError::Saved(paths)
            }
            file @ MoveError::File(..) if stay.is_empty() => file,
            MoveError::File(..) => MoveError::Saved(stay),
        }
    }

    /// Removes the files that were taken away. What was written last of all is put back as the user's change.
    pub(crate) fn clear(self) {
        for path in self.written_since() {
            if let Some(kept) = self.done.iter().find(|done| done.path == path).and_then(|done| done.kept.as_ref()) {
                let back =
                    host::swap_below(&self.top, kept, &path).or_else(|_| host::move_below(&self.top, kept, &path));
                tracing::warn!(path = %path.display(), is_back = back.is_ok(), "a file was saved at the last moment");
                if back.is_err() {
                    return;
                }
            }
        }
        remove(&self.top, &self.aside);
    }

    /// Leaves a note in the folder of what was taken away, which keeps the folder.
    fn note_kept(&self, stay: &[PathBuf]) {
        let names: String = stay.iter().map(|path| format!("{}\n", path.display())).collect();
        let note = self.top.join(&self.aside).join("old").join(KEPT);
        if let Err(error) = fs::write(&note, names) {
            tracing::warn!(path = %note.display(), %error, "a note of files that were kept could not be written");
        }
    }

    fn is_replaced(&self, change: &PathChange) -> bool {
        match (&change.old, &change.new) {
            (Some(old), Some(new)) => {
                !old.is_repository() && !new.is_repository() && self.seen.contains_key(&change.path)
            }
            _ => false,
        }
    }

    /// Takes a file away that has no successor of its kind.
    fn take(&mut self, change: &PathChange) -> Result<(), MoveError> {
        let failed = |error| MoveError::File(change.path.clone(), error);
        if change.old.as_ref().is_some_and(|old| old.is_repository()) {
            // One with files in it is nobody's to remove.
            let _stays = fs::remove_dir(self.top.join(&change.path));
            return Ok(());
        }
        let Some(seen) = self.seen.get(&change.path).cloned() else { return Ok(()) };
        let kept = self.aside.join("old").join(&change.path);
        self.make_parents(&kept).map_err(failed)?;
        match host::move_below(&self.top, &change.path, &kept) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(MoveError::Saved(vec![change.path.clone()]));
            }
            Err(error) => return Err(failed(error)),
        }
        self.done.push(MovedFiles { path: change.path.clone(), kept: Some(kept.clone()), put: None });
        self.expect_same(&change.path, &kept, &seen)?;
        self.drop_empty(change.path.parent());
        Ok(())
    }

    /// Puts a new file into its place.
    fn put(&mut self, change: &PathChange) -> Result<(), MoveError> {
        let failed = |error| MoveError::File(change.path.clone(), error);
        if change.new.as_ref().is_some_and(|new| new.is_repository()) {
            return self.make(&change.path).map_err(failed);
        }
        let new = self.aside.join("new").join(&change.path);
        let Some(mut put) = FileVersion::of(&self.top.join(&new)).map_err(failed)? else {
            // The user's settings leave it out of the work tree.
            return Ok(());
        };
        if !self.is_replaced(change) {
            self.drop_folders(&change.path);
            self.make_parents(&change.path).map_err(failed)?;
            let moved = host::move_below(&self.top, &new, &change.path);
            moved.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => MoveError::Saved(vec![change.path.clone()]),
                _ => failed(error),
            })?;
            self.done.push(MovedFiles { path: change.path.clone(), kept: None, put: Some(put) });
            return Ok(());
        }
        let Some(seen) = self.seen.get(&change.path).cloned() else { return Ok(()) };
        if change.old.as_ref().map(|old| &old.mode) == change.new.as_ref().map(|new| &new.mode) && seen.stamp.is_file()
        {
            put.mode = seen.stamp.mode;
            set_mode(&self.top.join(&new), put.mode).map_err(failed)?;
        }
        let kept = self.exchange(&change.path, &new).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists => MoveError::Saved(vec![change.path.clone()]),
            _ => failed(error),
        })?;
        self.done.push(MovedFiles { path: change.path.clone(), kept: Some(kept.clone()), put: Some(put) });
        self.expect_same(&change.path, &kept, &seen)
    }

    /// Lets a file and its successor change places; gives the place of the old one.
    fn exchange(&self, path: &Path, new: &Path) -> io::Result<PathBuf> {
        match host::swap_below(&self.top, path, new) {
            Ok(()) => return Ok(new.to_owned()),
            // Not every file system can.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
            Err(error) => return Err(error),
        }
        let kept = self.aside.join("old").join(path);
        self.make_parents(&kept)?;
        host::move_below(&self.top, path, &kept)?;
        match host::move_below(&self.top, new, path) {
            Ok(()) => Ok(kept),
            Err(error) => {
                // Whoever saved it in this moment has the place; what was there before stays in our folder.
                let _taken = host::move_below(&self.top, &kept, path);
                Err(error)
            }
        }
    }

    fn expect_same(&self, path: &Path, kept: &Path, seen: &FileState) -> Result<(), MoveError> {
        match FileState::of(&self.top.join(kept)) {
            Ok(Some(found)) if found == *seen => Ok(()),
            Ok(_) => Err(MoveError::Saved(vec![path.to_owned()])),
            Err(error) => Err(MoveError::File(path.to_owned(), error)),
        }
    }

    fn undo_one(&self, done: &MovedFiles) -> io::Result<()> {
        let now = FileVersion::of(&self.top.join(&done.path))?;
        match (&done.kept, &done.put) {
            // What the user made of it since is the user's.
            (_, Some(put)) if now.as_ref().is_some_and(|now| now != put) => {
                Err(io::Error::other("it was changed since it was put there"))
            }
            (Some(kept), Some(put)) if now.is_some() => self.give_back(&done.path, kept, put),
            (Some(kept), _) => {
                self.make_parents(&done.path)?;
                host::move_below(&self.top, kept, &done.path)
            }
            (None, Some(_)) if now.is_some() => {
                fs::remove_file(self.top.join(&done.path))?;
                self.drop_empty(done.path.parent());
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// Lets a file that was put into a place and the one that was taken from it change places again. A version that the
    /// user saved between the look and the exchange goes back, and so does every one that is saved meanwhile.
    fn give_back(&self, path: &Path, kept: &Path, put: &FileVersion) -> io::Result<()> {
        let aside = || FileVersion::of(&self.top.join(kept));
        let mut placed = aside()?;
        if let Err(error) = host::swap_below(&self.top, path, kept) {
            tracing::debug!(%error, "files cannot change places here");
            let new = self.aside.join("undone").join(path);
            self.make_parents(&new)?;
            host::move_below(&self.top, path, &new)?;
            return host::move_below(&self.top, kept, path);
        }
        let mut taken = aside()?;
        if taken.as_ref() == Some(put) {
            return Ok(());
        }
        loop {
            host::swap_below(&self.top, path, kept)?;
            let next = aside()?;
            if next == placed {
                return Err(io::Error::other("it was saved while it was put back"));
            }
            (placed, taken) = (taken, next);
        }
    }

    /// Whether the user wrote into one of our files while it was taken away again, through a file that was open; what
    /// was written is put into its place.
    fn was_written_into(&self, done: &MovedFiles) -> bool {
        let (Some(kept), Some(put)) = (&done.kept, &done.put) else { return false };
        let now = FileVersion::of(&self.top.join(kept)).ok().flatten();
        now.is_some_and(|now| now != *put) && host::swap_below(&self.top, &done.path, kept).is_ok()
    }

    fn make_parents(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if parent != Path::new("") => self.make(parent),
            Some(_) | None => Ok(()),
        }
    }

    fn make(&self, folder: &Path) -> io::Result<()> {
        host::make_below(&self.top, folder).map(|_path| ())
    }

    /// Removes folders that nothing is in any more, from this one upwards.
    fn drop_empty(&self, folder: Option<&Path>) {
        for folder in folder.into_iter().flat_map(Path::ancestors).filter(|folder| *folder != Path::new("")) {
            if fs::remove_dir(self.top.join(folder)).is_err() {
                return;
            }
        }
    }

    /// Removes a folder in which there are only folders.
    fn drop_folders(&self, path: &Path) {
        fn sweep(folder: &Path) {
            if fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                entries.for_each(|entry| sweep(&entry.path()));
                // One that holds a file stays, and is in the way.
                let _stays = fs::remove_dir(folder);
            }
        }
        sweep(&self.top.join(path));
    }
}

impl FileState {
    /// What a file is now, if there is one.
    fn of(path: &Path) -> io::Result<Option<FileState>> {
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
        Ok(Some(FileState { stamp, digest: hash.finalize().into() }))
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

/// Whether a file is anywhere in a folder.
pub(crate) fn has_files(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !entry.file_type().is_ok_and(|kind| kind.is_dir()) || has_files(&entry.path()))
}

fn remove(top: &Path, aside: &Path) {
    if let Err(error) = host::remove_below(top, aside) {
        tracing::info!(path = %aside.display(), %error, "a folder of ours stays");
    }
}
