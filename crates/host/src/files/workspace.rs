//! The folders that files may be used in, and how paths lead there.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::checked_path::CheckedPath;
use super::error::{FileError, PathError};
use super::root::WorkspaceRoot;

/// A working directory and the other folders that may be used from it.
#[derive(Debug, Clone)]
pub struct Workspace {
    cwd: PathBuf,
    roots: Vec<Arc<WorkspaceRoot>>,
}

impl Workspace {
    /// Opens the working directory and the other folders; each must exist.
    pub fn new(cwd: &Path, more_roots: &[PathBuf]) -> io::Result<Workspace> {
        let open = |path: &Path| WorkspaceRoot::open(path).map(Arc::new);
        let mut roots = vec![open(cwd)?];
        for path in more_roots {
            roots.push(open(path)?);
        }
        Ok(Workspace { cwd: roots.first().map(|root| root.path.clone()).unwrap_or_default(), roots })
    }

    /// The working directory, without links in it.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Every folder that may be used, the working directory first.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path.as_path())
    }

    /// Finds the place of a path, absolute or from the working directory. It may lead to a file that does not
    /// exist yet, as long as what does exist of it is in the workspace.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<CheckedPath, PathError> {
        let path = path.as_ref();
        if path.as_os_str().is_empty() {
            return Err(PathError::Invalid(path.to_owned()));
        }
        let full = self.cwd.join(path);
        if full.as_os_str().len() > LONGEST_PATH {
            return Err(PathError::TooLong(full.as_os_str().len()));
        }
        let real = RealPath::of(&full)?;
        let inside = |root: &Arc<WorkspaceRoot>| {
            let below = real.existing.strip_prefix(&root.path).ok()?;
            Some(CheckedPath::new(root.clone(), below.join(&real.missing).components().collect()))
        };
        self.roots.iter().find_map(inside).ok_or_else(|| self.outside(path))
    }

    /// The place of an absolute path as a walk of the workspace gives it. Nothing is looked up: if there is a
    /// link in it by now, using the place fails.
    pub fn place(&self, path: &Path) -> Option<CheckedPath> {
        let inside = |root: &Arc<WorkspaceRoot>| {
            Some(CheckedPath::new(root.clone(), path.strip_prefix(&root.path).ok()?.to_owned()))
        };
        self.roots.iter().find_map(inside)
    }

    /// Makes the folders above a place that are missing.
    pub fn create_parents(&self, place: &CheckedPath) -> Result<(), FileError> {
        place.create_parents()
    }

    fn outside(&self, path: &Path) -> PathError {
        if self.cwd.is_dir() {
            PathError::Outside { path: path.to_owned(), roots: self.roots().map(Path::to_owned).collect() }
        } else {
            PathError::WorkspaceGone(self.cwd.clone())
        }
    }
}

/// The most bytes that a system call takes, without the 0 at their end.
const LONGEST_PATH: usize = 4095;

/// A path without links and `..` in it, as things are at this moment.
struct RealPath {
    existing: PathBuf,
    /// The parts that do not exist.
    missing: PathBuf,
}

impl RealPath {
    fn of(full: &Path) -> Result<RealPath, PathError> {
        for existing in full.ancestors() {
            match fs::canonicalize(existing) {
                Ok(real) => return RealPath::with_missing(real, full.strip_prefix(existing).unwrap_or(Path::new(""))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if fs::symlink_metadata(existing).is_ok() {
                        return Err(PathError::Dangling(existing.to_owned()));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
                Err(error) => return Err(PathError::from(existing, error)),
            }
        }
        Err(PathError::Missing(full.to_owned()))
    }

    fn with_missing(existing: PathBuf, missing: &Path) -> Result<RealPath, PathError> {
        if let Some(first) = missing.components().next() {
            if !existing.is_dir() {
                return Err(PathError::NotDirectory(existing));
            }
            if missing.components().any(|part| part == Component::ParentDir) {
                return Err(PathError::Missing(existing.join(first)));
            }
        }
        Ok(RealPath { existing, missing: missing.to_owned() })
    }
}
