//! Walks a folder's files: `.gitignore` respected, symlinks not followed, always in the same order, stoppable.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder};
use protocol::clip_middle;
use tokio_util::sync::CancellationToken;

use crate::workspace_files::{self, PermittedPath, WalkedFile, WalkedReader};
use crate::{ToolContext, ToolError};

/// When a search must end.
#[derive(Debug, Clone)]
pub(crate) struct SearchDeadline {
    token: CancellationToken,
    deadline: Instant,
}

impl SearchDeadline {
    /// Stops with the call or at its time limit.
    pub(crate) fn new(cx: &ToolContext) -> SearchDeadline {
        SearchDeadline { token: cx.cancel.clone(), deadline: Instant::now() + cx.limits.search_time }
    }

    /// Whether the search must end now.
    pub(crate) fn is_due(&self) -> bool {
        self.token.is_cancelled() || Instant::now() >= self.deadline
    }
}

/// Whether a walk includes hidden files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HiddenFiles {
    /// They are skipped.
    Skip,
    /// They are included.
    Include,
}

/// The files under a folder that a call may read, sorted by path; the path itself when it is a file.
pub(crate) struct FileWalk<'a> {
    cx: &'a ToolContext,
    paths: Box<dyn Iterator<Item = PathBuf> + 'a>,
    left_out: usize,
}

impl<'a> FileWalk<'a> {
    /// Starts a walk of the files that match; of all files without a pattern.
    pub(crate) fn new(
        cx: &'a ToolContext,
        root: &'a PermittedPath,
        pattern: Option<&'a GlobPattern>,
        stop: SearchDeadline,
    ) -> FileWalk<'a> {
        let root = root.path();
        let hidden = pattern.map_or(HiddenFiles::Skip, |pattern| pattern.hidden);
        let matches = move |path: &PathBuf| pattern.is_none_or(|pattern| pattern.matches(root, path));
        FileWalk { cx, paths: Box::new(walk_files(root, hidden, stop).filter(matches)), left_out: 0 }
    }

    /// The number of matching files so far that the call may not read.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    /// The next file, opened for reading, or why it cannot be.
    pub(crate) fn next_open(&mut self) -> Option<(PathBuf, io::Result<WalkedReader>)> {
        self.next_permitted(workspace_files::open_walked)
    }

    fn next_permitted<T>(&mut self, check: impl Fn(&ToolContext, &Path) -> WalkedFile<T>) -> Option<(PathBuf, T)> {
        loop {
            let path = self.paths.next()?;
            match check(self.cx, &path) {
                WalkedFile::Permitted(file) => return Some((path, file)),
                WalkedFile::LeftOut => self.left_out += 1,
                WalkedFile::Missing => {}
            }
        }
    }
}

impl Iterator for FileWalk<'_> {
    type Item = PermittedPath;

    fn next(&mut self) -> Option<PermittedPath> {
        self.next_permitted(workspace_files::check_walked).map(|(_, file)| file)
    }
}

/// Calls `action` for the files under a folder, hidden ones too, in a stable order: for at most `max_files` files, and
/// for at most `max_time`.
pub fn for_each_file(root: &Path, max_files: usize, max_time: Duration, action: impl FnMut(&Path)) {
    let stop = SearchDeadline { token: CancellationToken::new(), deadline: Instant::now() + max_time };
    let mut action = action;
    walk_files(root, HiddenFiles::Include, stop).take(max_files).for_each(|path| action(&path));
}

/// The files under `root`, sorted by path; `root` itself when it is a file. Unreadable files are skipped, and so is a
/// folder with a dangerous ignore file. If `root` or a folder above it has one, no ignore file is respected.
fn walk_files(root: &Path, hidden: HiddenFiles, stop: SearchDeadline) -> impl Iterator<Item = PathBuf> + use<> {
    walker(root, hidden, |_entry| true)
        .take_while(move |_| !stop.is_due())
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(DirEntry::into_path)
}

/// An entry of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceEntry {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub kind: WorkspaceEntryKind,
}

/// The kind of a workspace entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceEntryKind {
    /// A file.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
    /// An unreadable entry.
    Unreadable,
}

/// Lists all entries of a workspace, hidden files too, except folders, ignored files, the folders of git and Bosun, and
/// the paths in `excluded`.
pub fn list_workspace(root: &Path, excluded: Vec<PathBuf>) -> impl Iterator<Item = WorkspaceEntry> + use<> {
    let is_included =
        move |entry: &DirEntry| entry.file_name() != ".bosun" && !excluded.iter().any(|out| out == entry.path());
    walker(root, HiddenFiles::Include, is_included).filter_map(|entry| match entry {
        Ok(entry) => {
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => return None,
                kind if kind.is_file() => WorkspaceEntryKind::File,
                kind if kind.is_symlink() => WorkspaceEntryKind::Link,
                _other => WorkspaceEntryKind::Other,
            };
            Some(WorkspaceEntry { path: entry.into_path(), kind })
        }
        Err(error) => error_path(&error).map(|path| WorkspaceEntry { path, kind: WorkspaceEntryKind::Unreadable }),
    })
}

/// The path that could not be read.
fn error_path(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => error_path(err),
        ignore::Error::Partial(all) => all.iter().find_map(error_path),
        _other => None,
    }
}

/// Walks a folder, each part sorted by path, without folders that have a dangerous ignore file. If `root` or a folder
/// above it has one, no ignore file is respected.
fn walker(
    root: &Path,
    hidden: HiddenFiles,
    is_included: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> ignore::Walk {
    let has_rules = root.ancestors().all(has_safe_ignore_files);
    WalkBuilder::new(root)
        .hidden(hidden == HiddenFiles::Skip)
        .git_ignore(has_rules)
        .ignore(has_rules)
        .parents(has_rules)
        // Without this, `.gitignore` would apply only inside a repository.
        .require_git(false)
        // The result must not depend on the user's git settings.
        .git_global(false)
        .git_exclude(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.file_name() != ".git"
                && !(has_rules && is_folder && !has_safe_ignore_files(entry.path()))
                && is_included(entry)
        })
        // Entries of one folder: their names have the order of their paths.
        .sort_by_file_name(OsStr::cmp)
        .build()
}

/// Maximum bytes of an ignore file.
const MAX_IGNORE_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum braces in a line of one: the library parses nested braces by recursion, and a deep line would crash the
/// process.
const MAX_BRACES: usize = 100;

/// Whether the ignore files of a folder can be read without blocking or running out of stack.
fn has_safe_ignore_files(folder: &Path) -> bool {
    [".gitignore", ".ignore"].iter().all(|name| {
        let path = folder.join(name);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_IGNORE_BYTES => {
                // The library does not read files that we may not read.
                fs::read(&path).map_or(true, |rules| has_few_braces(&rules))
            }
            Ok(metadata) => metadata.is_dir(),
            Err(_) => true,
        }
    })
}

fn has_few_braces(rules: &[u8]) -> bool {
    rules.split(|&byte| byte == b'\n').all(|line| line.iter().filter(|&&byte| byte == b'{').count() <= MAX_BRACES)
}

/// A pattern for paths below a folder.
#[derive(Debug)]
pub(crate) struct GlobPattern {
    matcher: GlobSet,
    /// Whether it matches hidden files.
    hidden: HiddenFiles,
}

/// Maximum bytes of a glob: the library parses nested braces by recursion.
const MAX_GLOB_BYTES: usize = 1000;
/// Maximum bytes quoted in a refusal.
const MAX_MESSAGE_BYTES: usize = 300;

impl GlobPattern {
    /// Parses a glob; without a `/` it matches names at any depth.
    pub(crate) fn new(glob: &str) -> Result<GlobPattern, ToolError> {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        if glob.len() > MAX_GLOB_BYTES {
            let text = format!("a glob of {} bytes is too long; at most {MAX_GLOB_BYTES} are accepted", glob.len());
            return Err(ToolError::Refused(text));
        }
        if glob.is_empty() || glob.starts_with('/') {
            let text = format!("glob `{glob}` must be relative, such as `src/**/*.rs`; give the folder in `path`");
            return Err(ToolError::Refused(text));
        }
        let anywhere = if glob.contains('/') { String::new() } else { "**/".to_owned() };
        let built = GlobBuilder::new(&format!("{anywhere}{glob}")).literal_separator(true).build();
        // A set, although it has one glob: building a single matcher panics where building a set fails.
        let built = built.and_then(|one| GlobSetBuilder::new().add(one).build());
        let matcher = built.map_err(|error| {
            let why = clip_middle(&error.kind().to_string(), MAX_MESSAGE_BYTES);
            ToolError::Refused(format!("invalid glob `{}`: {why}", clip_middle(glob, MAX_MESSAGE_BYTES)))
        })?;
        // A pattern that names a hidden file includes hidden files.
        let names_hidden = glob.split('/').any(|part| part.starts_with('.'));
        let hidden = if names_hidden { HiddenFiles::Include } else { HiddenFiles::Skip };
        Ok(GlobPattern { matcher, hidden })
    }

    /// Whether `path`, which is below `root` or is `root`, matches.
    pub(crate) fn matches(&self, root: &Path, path: &Path) -> bool {
        let below = path.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
        let name = path.file_name().map(Path::new);
        below.or(name).is_some_and(|path| self.matcher.is_match(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_below_their_folder() {
        let table = [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/deep/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("./src/**/*.rs", "src/deep/a.rs", true),
            ("**/*.{ts,tsx}", "web/x.tsx", true),
            ("?.rs", "ab.rs", false),
        ];
        for (glob, path, expected) in table {
            let root = Path::new("/w");
            assert_eq!(GlobPattern::new(glob).unwrap().matches(root, &root.join(path)), expected, "{glob} {path}");
        }
    }

    #[test]
    fn bad_patterns_say_why() {
        for (glob, expected) in [("", "must be relative"), ("/etc/*", "must be relative"), ("a[", "invalid glob `a[`")]
        {
            assert!(GlobPattern::new(glob).unwrap_err().to_string().contains(expected), "{glob}");
        }
    }
}
