//! Finds files below a folder, limited in number and depth. Reports everything that is skipped.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use host::PlainError;

use super::DefinitionProblem;

/// Maximum number of files and folders visited below one folder.
const MAX_FILES: usize = 1_000;

/// Maximum nesting depth of folders.
const MAX_DEPTH: usize = 8;

/// Maximum size of a definition, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// Whether links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkPolicy {
    /// For the user's own folders: people keep their files elsewhere.
    Followed,
    /// For projects and plugins: the target of a link is not covered by the user's trust.
    Refused,
}

/// A folder to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct DefinitionWalk<'a> {
    /// The folder below which no link is followed, if links are refused.
    pub(super) boundary: &'a Path,
    /// The folder, which is `top` or below it.
    pub(super) folder: &'a Path,
    pub(super) links: LinkPolicy,
}

impl DefinitionWalk<'_> {
    /// Every file below the folder, sorted; none when it does not exist.
    pub(super) fn files(&self, problems: &mut Vec<DefinitionProblem>) -> Vec<PathBuf> {
        let (mut found, mut pending) = (Vec::new(), vec![(self.folder.to_owned(), 0)]);
        let (mut visited, mut entered) = (0, BTreeSet::new());
        while let Some((folder, depth)) = pending.pop() {
            // A link may form a cycle.
            let is_new = folder.canonicalize().map_or(true, |real| entered.insert(real));
            if !is_new {
                continue;
            }
            for entry in self.entries(&folder, depth, problems) {
                visited += 1;
                if visited > MAX_FILES {
                    let message = format!("there are more than {MAX_FILES} files here, and the rest is ignored");
                    problems.push(DefinitionProblem::error(
                        self.folder,
                        message,
                        "move files that are not definitions elsewhere",
                    ));
                    found.sort();
                    return found;
                }
                match self.kind(&entry) {
                    PathKind::Folder if depth < MAX_DEPTH => pending.push((entry, depth + 1)),
                    PathKind::Folder => {
                        let message = "it is nested too deeply and is ignored";
                        problems.push(DefinitionProblem::error(&entry, message, "move it further up"));
                    }
                    PathKind::File => found.push(entry),
                    PathKind::Link => {
                        let (message, remedy) = ("it is a link, which is ignored here", "put the file itself there");
                        problems.push(DefinitionProblem::error(&entry, message, remedy));
                    }
                    PathKind::Broken(error) => {
                        problems.push(DefinitionProblem::error(&entry, error, "correct or remove it"))
                    }
                }
            }
        }
        found.sort();
        found
    }

    /// Reads a file as text.
    pub(super) fn read(&self, file: &Path, problems: &mut Vec<DefinitionProblem>) -> Option<String> {
        let read = match (self.links, file.strip_prefix(self.boundary)) {
            (LinkPolicy::Followed, _) => host::read_plain(file, MAX_BYTES),
            (LinkPolicy::Refused, Ok(below)) => host::read_below(self.boundary, below, MAX_BYTES),
            (LinkPolicy::Refused, Err(_)) => Err(PlainError::Link),
        };
        let (message, remedy) = match read {
            Ok(None) => return None,
            Ok(Some(bytes)) => match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => return Some(text),
                Ok(_) | Err(_) => ("it is not UTF-8 text".to_owned(), "write it as text, or move it elsewhere"),
            },
            Err(error @ PlainError::TooLarge { .. }) => (error.to_string(), "shorten it, or move it elsewhere"),
            Err(error @ (PlainError::NotPlain | PlainError::Link | PlainError::OtherOwner)) => {
                (error.to_string(), "put the file itself there")
            }
            Err(PlainError::Io(error)) => (format!("it cannot be read: {error}"), "make it readable, or remove it"),
        };
        problems.push(DefinitionProblem::error(file, message, remedy));
        None
    }

    /// The entries of a folder; none if it does not exist or is not a folder.
    fn entries(&self, folder: &Path, depth: usize, problems: &mut Vec<DefinitionProblem>) -> Vec<PathBuf> {
        if depth == 0 && self.links == LinkPolicy::Refused && self.is_behind_link() {
            let (message, remedy) = ("it is behind a link, which is not followed here", "put the folder itself there");
            problems.push(DefinitionProblem::error(folder, message, remedy));
            return Vec::new();
        }
        let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
        let listed = fs::read_dir(folder).and_then(|entries| {
            let entries: io::Result<Vec<DirEntry>> = entries.take(MAX_FILES + 1).collect();
            entries
        });
        match listed {
            Ok(entries) => {
                let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
                paths.sort();
                paths
            }
            Err(error) if depth == 0 && absent.contains(&error.kind()) => Vec::new(),
            Err(error) => {
                let message = format!("it cannot be listed: {error}");
                problems.push(DefinitionProblem::error(folder, message, "make it readable, or remove it"));
                Vec::new()
            }
        }
    }

    /// Whether one of the folders between the top and the folder is a link.
    fn is_behind_link(&self) -> bool {
        let below = self.folder.ancestors().take_while(|folder| *folder != self.boundary);
        below.into_iter().any(Path::is_symlink)
    }

    fn kind(&self, path: &Path) -> PathKind {
        let metadata = match (path.is_symlink(), self.links) {
            (true, LinkPolicy::Refused) => return PathKind::Link,
            (true | false, _) => fs::metadata(path),
        };
        match metadata {
            Ok(metadata) if metadata.is_dir() => PathKind::Folder,
            // Pipes and devices are refused when they are read.
            Ok(_) => PathKind::File,
            Err(error) => PathKind::Broken(format!("it cannot be read: {error}")),
        }
    }
}

enum PathKind {
    File,
    Folder,
    Link,
    Broken(String),
}
