//! The folders in which files may be used, and the resolution of paths in them.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::checked_path::CheckedPath;
use super::error::{FileError, PathError};
use super::root::WorkspaceRoot;

/// A working directory and the other folders that may be used.
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

    /// Resolves a path, absolute or relative to the working directory. The file may not exist yet, as long as the
    /// existing part of its path is in the workspace.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<CheckedPath, PathError> {
        let path = path.as_ref();
        if path.as_os_str().is_empty() {
            return Err(PathError::Invalid(path.to_owned()));
        }
        let full = self.cwd.join(path);
        if full.as_os_str().len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong(full.as_os_str().len()));
        }
        let real = RealPath::resolve(&full)?;
        let inside = |root: &Arc<WorkspaceRoot>| {
            let below = real.existing.strip_prefix(&root.path).ok()?;
            Some(CheckedPath::new(root.clone(), below.join(&real.missing).components().collect()))
        };
        self.roots.iter().find_map(inside).ok_or_else(|| self.outside_error(path))
    }

    /// This workspace and the folder of a file outside it, which may not exist yet.
    pub fn with_folder_of(&self, path: impl AsRef<Path>) -> Result<Workspace, PathError> {
        let full = self.cwd.join(path);
        let real = RealPath::resolve(&full)?;
        let is_folder = real.existing.is_dir();
        let folder = if is_folder { Some(real.existing.as_path()) } else { real.existing.parent() };
        let opened = folder.map(WorkspaceRoot::open).transpose().map_err(|error| PathError::from(&full, error))?;
        let roots = self.roots.iter().cloned().chain(opened.map(Arc::new)).collect();
        Ok(Workspace { cwd: self.cwd.clone(), roots })
    }

    /// The checked path for an absolute path from a walk of the workspace. The disk is not accessed: if the path
    /// contains a link by now, using it fails.
    pub fn checked_path(&self, path: &Path) -> Option<CheckedPath> {
        let inside = |root: &Arc<WorkspaceRoot>| {
            Some(CheckedPath::new(root.clone(), path.strip_prefix(&root.path).ok()?.to_owned()))
        };
        self.roots.iter().find_map(inside)
    }

    /// Creates the missing parent folders of a path.
    pub fn create_parents(&self, path: &CheckedPath) -> Result<(), FileError> {
        path.create_parents()
    }

    fn outside_error(&self, path: &Path) -> PathError {
        if self.cwd.is_dir() {
            PathError::Outside { path: path.to_owned(), roots: self.roots().map(Path::to_owned).collect() }
        } else {
            PathError::WorkspaceGone(self.cwd.clone())
        }
    }
}

/// Maximum bytes of a path in a system call, without the final 0.
const MAX_PATH_BYTES: usize = 4095;

/// A path whose links and `..` were resolved.
struct RealPath {
    /// The part that exists.
    existing: PathBuf,
    /// The rest, which does not exist.
    missing: PathBuf,
}

impl RealPath {
    fn resolve(full: &Path) -> Result<RealPath, PathError> {
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
