//! Going through a folder's files: `.gitignore` respected, symlinks not followed, always in the same order, stoppable.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder};
use protocol::clip_middle;
use tokio_util::sync::CancellationToken;

use crate::workspace_files::{self, PermittedPath, WalkedFile};
use crate::{ToolContext, ToolError};

/// When a search must end.
#[derive(Debug, Clone)]
pub(crate) struct SearchDeadline {
    token: CancellationToken,
    deadline: Instant,
}

impl SearchDeadline {
    /// Ends with the call or at its time limit.
    pub(crate) fn new(cx: &ToolContext) -> SearchDeadline {
        SearchDeadline { token: cx.cancel.clone(), deadline: Instant::now() + cx.limits.search }
    }

    /// Whether it must end now.
    pub(crate) fn is_due(&self) -> bool {
        self.token.is_cancelled() || Instant::now() >= self.deadline
    }
}

/// Whether hidden files are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HiddenFiles {
    /// They are passed over.
    Skip,
    /// They are taken too.
    Take,
}

/// The files under a folder that a call may read, sorted by path; the place itself when it is a file.
pub(crate) struct FileWalk<'a> {
    cx: &'a ToolContext,
    paths: Box<dyn Iterator<Item = PathBuf> + 'a>,
    left_out: usize,
}

impl<'a> FileWalk<'a> {
    /// Begins to go through the files that match; all of them without a pattern.
    pub(crate) fn new(
        cx: &'a ToolContext,
        root: &'a PermittedPath,
        pattern: Option<&'a GlobPattern>,
        stop: SearchDeadline,
    ) -> FileWalk<'a> {
        let root = root.path();
        let hidden = pattern.map_or(HiddenFiles::Skip, |pattern| pattern.hidden);
        let matches = move |path: &PathBuf| pattern.is_none_or(|pattern| pattern.matches(root, path));
        FileWalk { cx, paths: Box::new(files(root, hidden, stop).filter(matches)), left_out: 0 }
    }

    /// How many files matched so far that the call may not read.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    /// The next file, open to be read, or why it cannot be.
    pub(crate) fn next_open(&mut self) -> Option<(PathBuf, io::Result<File>)> {
        self.next_permitted(workspace_files::open_walked)
    }

    fn next_permitted<T>(&mut self, meet: impl Fn(&ToolContext, &Path) -> WalkedFile<T>) -> Option<(PathBuf, T)> {
        loop {
            let path = self.paths.next()?;
            match meet(self.cx, &path) {
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

/// Tells of the files under a folder, hidden ones too, in an order that stays: at most so many, and for so long.
pub fn each_file(root: &Path, most: usize, time: Duration, each: impl FnMut(&Path)) {
    let stop = SearchDeadline { token: CancellationToken::new(), deadline: Instant::now() + time };
    let mut each = each;
    files(root, HiddenFiles::Take, stop).take(most).for_each(|path| each(&path));
}

/// The files under `root`, sorted by path; `root` itself when it is a file. What cannot be read is passed over, and so
/// is a folder whose ignore file could do harm. Such a file in `root` or above it means that none is respected.
fn files(root: &Path, hidden: HiddenFiles, stop: SearchDeadline) -> impl Iterator<Item = PathBuf> + use<> {
    walker(root, hidden, |_entry| true)
        .take_while(move |_| !stop.is_due())
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(DirEntry::into_path)
}

/// What is in a workspace, at a place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceEntry {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: WorkspaceEntryKind,
}

/// What a place in a workspace holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceEntryKind {
    /// A file.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
    /// Something that cannot be looked at.
    Unreadable,
}

/// Everything in a workspace that its work is made of, hidden files too: all but folders, what ignore files name, what
/// git and Bosun keep for themselves, and what lies at the places `apart`.
pub fn list_workspace(root: &Path, apart: Vec<PathBuf>) -> impl Iterator<Item = WorkspaceEntry> + use<> {
    let counts = move |entry: &DirEntry| entry.file_name() != ".bosun" && !apart.iter().any(|out| out == entry.path());
    walker(root, HiddenFiles::Take, counts).filter_map(|entry| match entry {
        Ok(entry) => {
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => return None,
                kind if kind.is_file() => WorkspaceEntryKind::File,
                kind if kind.is_symlink() => WorkspaceEntryKind::Link,
                _other => WorkspaceEntryKind::Other,
            };
            Some(WorkspaceEntry { path: entry.into_path(), kind })
        }
        Err(error) => place_of(&error).map(|path| WorkspaceEntry { path, kind: WorkspaceEntryKind::Unreadable }),
    })
}

/// Where something could not be looked at.
fn place_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => place_of(err),
        ignore::Error::Partial(all) => all.iter().find_map(place_of),
        _other => None,
    }
}

/// Goes through a folder, each part sorted by path, without a folder whose ignore file could do harm. Such a file in
/// `root` or above it means that none is respected.
fn walker(
    root: &Path,
    hidden: HiddenFiles,
    counts: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> ignore::Walk {
    let has_rules = root.ancestors().all(has_sane_rules);
    WalkBuilder::new(root)
        .hidden(hidden == HiddenFiles::Skip)
        .git_ignore(has_rules)
        .ignore(has_rules)
        .parents(has_rules)
        // Without this, `.gitignore` would count only inside a repository.
        .require_git(false)
        // The result must not depend on the person's own settings.
        .git_global(false)
        .git_exclude(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.file_name() != ".git" && !(has_rules && is_folder && !has_sane_rules(entry.path())) && counts(entry)
        })
        .sort_by_file_path(Path::cmp)
        .build()
}

/// Most bytes of an ignore file.
const MAX_IGNORE_BYTES: u64 = 4 * 1024 * 1024;
/// Most braces in a line of one: the library reads nested ones by recursion, and a deep line would end the process.
const MAX_BRACES: usize = 100;

/// Whether the ignore files of a folder can be read without waiting for ever or running out of stack.
fn has_sane_rules(folder: &Path) -> bool {
    [".gitignore", ".ignore"].iter().all(|name| {
        let path = folder.join(name);
        match fs::metadata(&path) {
            Ok(found) if found.is_file() && found.len() <= MAX_IGNORE_BYTES => {
                // What we may not read, the library does not read either.
                fs::read(&path).map_or(true, |rules| is_flat(&rules))
            }
            Ok(found) => found.is_dir(),
            Err(_) => true,
        }
    })
}

fn is_flat(rules: &[u8]) -> bool {
    rules.split(|&byte| byte == b'\n').all(|line| line.iter().filter(|&&byte| byte == b'{').count() <= MAX_BRACES)
}

/// A pattern for paths below a folder.
#[derive(Debug)]
pub(crate) struct GlobPattern {
    matcher: GlobSet,
    /// Whether hidden files are gone through for it.
    hidden: HiddenFiles,
}

/// Most bytes of a glob: the library reads nested braces by recursion.
const LONGEST: usize = 1000;
/// Most bytes of a refusal's quotations.
const MAX_MESSAGE_BYTES: usize = 300;

impl GlobPattern {
    /// Reads a glob; without a `/` it matches names at any depth.
    pub(crate) fn new(glob: &str) -> Result<GlobPattern, ToolError> {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        if glob.len() > LONGEST {
            let text = format!("a glob of {} bytes is too long; at most {LONGEST} are taken", glob.len());
            return Err(ToolError::Refused(text));
        }
        if glob.is_empty() || glob.starts_with('/') {
            let text = format!("glob `{glob}` must be relative, such as `src/**/*.rs`; give the folder in `path`");
            return Err(ToolError::Refused(text));
        }
        let anywhere = if glob.contains('/') { String::new() } else { "**/".to_owned() };
        let built = GlobBuilder::new(&format!("{anywhere}{glob}")).literal_separator(true).build();
        // A set, although of one: building a single matcher panics where building a set fails.
        let built = built.and_then(|one| GlobSetBuilder::new().add(one).build());
        let matcher = built.map_err(|error| {
            let why = clip_middle(&error.kind().to_string(), MAX_MESSAGE_BYTES);
            ToolError::Refused(format!("invalid glob `{}`: {why}", clip_middle(glob, MAX_MESSAGE_BYTES)))
        })?;
        // A pattern that names a hidden file asks for it.
        let names_hidden = glob.split('/').any(|part| part.starts_with('.'));
        let hidden = if names_hidden { HiddenFiles::Take } else { HiddenFiles::Skip };
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
