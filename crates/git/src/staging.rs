//! Makes a tree of a whole folder, through a temporary index: the folder's own index is not changed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use crate::run::CommandOutput;
use crate::{Commit, Git, GitError};

/// The committer when git has no user name.
pub(crate) const DEFAULT_COMMITTER: (&str, &str) = ("Bosun worker", "worker@bosun.invalid");

/// Overrides settings that change how a folder is read: excluded parts, caches beside an index, and line-ending checks.
pub(crate) const PLAIN_SETTINGS: [&str; 8] = [
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.safecrlf=false",
    "-c",
    "advice.addEmbeddedRepo=false",
];

/// Git's message for a folder that it may not read.
const UNREADABLE_FOLDER: &str = "could not open directory";

/// Bytes of two files compared at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Maximum number of files named in an error.
const MAX_FILES_NAMED: usize = 10;

/// How the folder's own index compares with ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnIndex {
    /// It is the same.
    Same,
    /// It differs.
    Different,
    /// It differs, and excludes files from the folder on purpose.
    LeavesOut,
}

/// A temporary index; dropping it removes its file.
#[derive(Debug)]
pub(crate) struct StagingIndex {
    git: Git,
    index: PathBuf,
}

impl StagingIndex {
    /// Starts with a copy of the index at `from`, or with the content of `fallback` if there is none.
    pub(crate) async fn from_copy(
        git: Git,
        from: &Path,
        index: &Path,
        fallback: &Commit,
    ) -> Result<StagingIndex, GitError> {
        let staging = StagingIndex::new(git, index);
        match copy_index(from, index).map_err(GitError::file(from))? {
            true => Ok(staging),
            false => staging.read_commit(fallback).await,
        }
    }

    /// Starts with the content of a commit, without file states.
    pub(crate) async fn from_commit(git: Git, index: &Path, commit: &Commit) -> Result<StagingIndex, GitError> {
        StagingIndex::new(git, index).read_commit(commit).await
    }

    async fn read_commit(self, commit: &Commit) -> Result<StagingIndex, GitError> {
        self.git.run_checked(&["read-tree", commit.as_str()], &[]).await?;
        Ok(self)
    }

    fn new(git: Git, index: &Path) -> StagingIndex {
        let staging = StagingIndex { git: git.with_env("GIT_INDEX_FILE", index), index: index.to_owned() };
        staging.remove_files();
        staging
    }

    /// Like [`StagingIndex::copied`], but fails if a merge is in progress in the index.
    pub(crate) async fn from_merged_copy(
        git: Git,
        from: &Path,
        index: &Path,
        fallback: &Commit,
    ) -> Result<StagingIndex, GitError> {
        let staging = StagingIndex::from_copy(git, from, index, fallback).await?;
        staging.require_merged().await?;
        Ok(staging)
    }

    /// Adds all files in the folder that are not ignored, regardless of marks in the index that would hide them.
    pub(crate) async fn stage_all(&self, folder: &Path) -> Result<(), GitError> {
        self.remove_marks(folder).await?;
        self.add_all(folder).await
    }

    /// Like [`StagingIndex::stage_all`] for an index without such marks, except for files that are excluded and
    /// missing.
    pub(crate) async fn add_all(&self, folder: &Path) -> Result<(), GitError> {
        let args: Vec<&str> = PLAIN_SETTINGS.into_iter().chain(["add", "--all", "--sparse", "--", "."]).collect();
        let git = self.git.in_folder(folder);
        let output = self.run_writing_index(&git, &args, &[]).await?;
        // Git skips a folder that it may not read, treats its known files as removed, and reports success.
        if output.stderr.contains(UNREADABLE_FOLDER) { Err(git.failure(&args, &output)) } else { Ok(()) }
    }

    /// Adds the files at or below some paths that are not ignored and differ from the index.
    pub(crate) async fn add(&self, folder: &Path, paths: &BTreeSet<PathBuf>) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let git = self.git.in_folder(folder);
        let list = |command: &[&'static str]| -> Vec<&OsStr> {
            let options = PLAIN_SETTINGS.into_iter().chain(["--literal-pathspecs"]).chain(command.iter().copied());
            options.map(OsStr::new).chain([OsStr::new("--")]).chain(paths.iter().map(AsRef::as_ref)).collect()
        };
        let known = list(&["diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=none"]);
        let others = list(&["ls-files", "-z", "--others", "--exclude-standard"]);
        let (known, new) = tokio::try_join!(git.run_checked(&known, &[]), git.run_checked(&others, &[]))?;
        // Git skips a folder that it may not read, and reports success.
        if new.stderr.contains(UNREADABLE_FOLDER) {
            return Err(git.failure(&others, &new));
        }
        let differing = [known.stdout, new.stdout].concat();
        if differing.is_empty() {
            return Ok(());
        }
        // Only files that git would add itself: it refuses ignored paths.
        let add = ["--literal-pathspecs", "add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let add: Vec<&str> = PLAIN_SETTINGS.into_iter().chain(add).collect();
        self.run_writing_index(&git, &add, &differing).await.map(|_output| ())
    }

    /// The index as a tree.
    pub(crate) async fn tree(&self) -> Result<String, GitError> {
        self.git.text(&["write-tree"]).await
    }

    /// The index as a commit on top of `parent`; `parent` itself if the trees are equal.
    pub(crate) async fn commit(&self, parent: &Commit, message: &str) -> Result<Commit, GitError> {
        let tree = self.tree().await?;
        if self.git.text(&["rev-parse", &format!("{parent}^{{tree}}")]).await? == tree {
            return Ok(parent.clone());
        }
        let git = if self.has_user().await? { self.git.clone() } else { with_default_committer(self.git.clone()) };
        let name =
            git.run_checked(&["commit-tree", "-p", parent.as_str(), &tree], message.as_bytes()).await?.run_for_text();
        let folder = git.folder().to_owned();
        Commit::new(&name).ok_or(GitError::Failed { command: "commit-tree".into(), folder, said: name })
    }

    /// The nested repositories in the folder: only their current commit can be added.
    pub(crate) async fn repositories(&self, folder: &Path) -> Result<Vec<String>, GitError> {
        let output = self.git.run_checked(&["ls-files", "--stage", "-z"], &[]).await?;
        let links = output.stdout.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
        let paths =
            links.filter_map(|entry| Some(to_os_str(&entry[entry.iter().position(|byte| *byte == b'\t')? + 1..])));
        let known = paths.filter(|path| folder.join(path).join(".git").symlink_metadata().is_ok());
        Ok(known.map(|path| path.to_string_lossy().into_owned()).collect())
    }

    async fn require_merged(&self) -> Result<(), GitError> {
        let output = self.git.run_checked(&["ls-files", "--unmerged", "-z"], &[]).await?;
        let mut files: Vec<String> = entries(&output.stdout)
            .filter_map(|entry| entry.split_once('\t').map(|(_, path)| path.to_owned()))
            .collect();
        files.dedup();
        self.fail_if_unmerged(files)
    }

    fn fail_if_unmerged(&self, mut files: Vec<String>) -> Result<(), GitError> {
        files.truncate(MAX_FILES_NAMED);
        let path = self.git.folder().to_owned();
        if files.is_empty() { Ok(()) } else { Err(GitError::Unmerged { path, files }) }
    }

    /// Removes marks that hide changes of a file, unless the file is excluded on purpose.
    async fn remove_marks(&self, folder: &Path) -> Result<(), GitError> {
        let IndexMarks { assumed, skipped } = IndexMarks::read(&self.git).await?;
        let existing = skipped.into_iter().filter(|path| exists_in(folder, path)).collect();
        self.set_mark("--no-assume-unchanged", assumed).await?;
        self.set_mark("--no-skip-worktree", existing).await
    }

    async fn set_mark(&self, option: &str, paths: Vec<Vec<u8>>) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let paths: Vec<u8> = paths.into_iter().flat_map(|path| path.into_iter().chain([0])).collect();
        self.run_writing_index(&self.git, &["update-index", option, "-z", "--stdin"], &paths).await.map(|_output| ())
    }

    /// Adopts the entries of the folder's own index at `own`: which files count although ignored, which no longer
    /// count, and which are excluded on purpose. The agent in the folder can write that index, so its file states are
    /// not trusted: entries that differ from `base` are read again, and entries equal to `base` keep the state known to
    /// this index.
    pub(crate) async fn adopt_entries(&self, folder: &Path, own: &Path, base: &Commit) -> Result<OwnIndex, GitError> {
        let theirs = self.copy_path();
        if !copy_index(own, &theirs).map_err(GitError::file(own))? {
            return Ok(OwnIndex::Different);
        }
        // Most agents never write it.
        if has_same_content(&theirs, &self.index).map_err(GitError::file(&theirs))? {
            return Ok(OwnIndex::Same);
        }
        let git = self.git.clone().with_env("GIT_INDEX_FILE", &theirs);
        let mut skipped = IndexMarks::read(&git).await?.skipped;
        skipped.retain(|path| !exists_in(folder, path));
        // Git lists files in the order of their bytes.
        let is_skipped = |path: &[u8]| skipped.binary_search_by(|skipped| skipped.as_slice().cmp(path)).is_ok();
        let entries_to_read =
            self.differing_entries(&git, base, |path| exists_in(folder, path) || is_skipped(path)).await?;
        if !entries_to_read.is_empty() {
            self.run_writing_index(&self.git, &["update-index", "-z", "--index-info"], &entries_to_read).await?;
        }
        let comparison = if skipped.is_empty() { OwnIndex::Different } else { OwnIndex::LeavesOut };
        self.set_mark("--skip-worktree", skipped).await?;
        Ok(comparison)
    }

    /// Resets the states of files, so that they are read again.
    pub(crate) async fn reset_states(&self, paths: &[&Path]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let args = ["--literal-pathspecs", "ls-files", "--stage", "-z", "--"].map(OsStr::new);
        let args: Vec<&OsStr> = args.into_iter().chain(paths.iter().map(AsRef::as_ref)).collect();
        let known = self.git.run_checked(&args, &[]).await?.stdout;
        if known.is_empty() {
            return Ok(());
        }
        self.run_writing_index(&self.git, &["update-index", "-z", "--index-info"], &known).await.map(|_output| ())
    }

    /// Runs a command that writes the index. An index with a time in the future keeps that time: it applies to the
    /// known files, and the next command would read them again.
    async fn run_writing_index(&self, git: &Git, args: &[&str], input: &[u8]) -> Result<CommandOutput, GitError> {
        let before = self.metadata()?;
        let output = git.run_checked(args, input).await?;
        let is_ahead = before.modified().ok() > self.metadata()?.modified().ok();
        if is_ahead {
            set_time(&self.index, &before).map_err(GitError::file(&self.index))?;
        }
        Ok(output)
    }

    fn metadata(&self) -> Result<fs::Metadata, GitError> {
        fs::metadata(&self.index).map_err(GitError::file(&self.index))
    }

    /// The entries of another index that differ from `base`, as input for this one: without file states, so that the
    /// files are read again. Their contents may exist only in the folder's own repository.
    async fn differing_entries(
        &self,
        git: &Git,
        base: &Commit,
        is_included: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<u8>, GitError> {
        let args = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", base.as_str()];
        let output = git.run_checked(&args, &[]).await?;
        let mut fields = output.stdout.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let (mut entries_to_read, mut unmerged) = (Vec::new(), Vec::new());
        while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
            let change = String::from_utf8_lossy(change);
            let words: Vec<&str> = change.split(' ').collect();
            let [_, mode, _, id, kind] = words[..] else { return Err(git.unexpected_output("diff-index", &change)) };
            if kind == "U" {
                unmerged.push(String::from_utf8_lossy(path).into_owned());
            } else if mode == "000000" || is_included(path) {
                entries_to_read.extend_from_slice(format!("{mode} {id} 0\t").as_bytes());
                entries_to_read.extend_from_slice(path);
                entries_to_read.push(0);
            }
        }
        unmerged.dedup();
        self.fail_if_unmerged(unmerged)?;
        Ok(entries_to_read)
    }

    /// The path for a copy of another index.
    fn copy_path(&self) -> PathBuf {
        self.index.with_added_extension("theirs")
    }

    async fn has_user(&self) -> Result<bool, GitError> {
        Ok(self.git.run(&["config", "--get", "user.email"], &[]).await?.code == 0)
    }

    fn remove_files(&self) {
        for path in [self.index.clone(), self.index.with_added_extension("lock"), self.copy_path()] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(path = %path.display(), %error, "cannot remove a temporary index");
                }
                Ok(()) | Err(_) => {}
            }
        }
    }
}

impl Drop for StagingIndex {
    fn drop(&mut self) {
        self.remove_files();
    }
}

/// The files of an index whose changes git ignores.
#[derive(Debug, Default)]
struct IndexMarks {
    /// Assumed unchanged.
    assumed: Vec<Vec<u8>>,
    /// Excluded from the folder.
    skipped: Vec<Vec<u8>>,
}

impl IndexMarks {
    async fn read(git: &Git) -> Result<IndexMarks, GitError> {
        let output = git.run_checked(&["ls-files", "-v", "-z"], &[]).await?;
        let mut marks = IndexMarks::default();
        for entry in output.stdout.split(|byte| *byte == 0).filter(|entry| entry.len() > 2) {
            let (mark, path) = (entry[0], &entry[2..]);
            if mark.eq_ignore_ascii_case(&b's') {
                marks.skipped.push(path.to_vec());
            }
            if mark.is_ascii_lowercase() {
                marks.assumed.push(path.to_vec());
            }
        }
        Ok(marks)
    }
}

fn exists_in(folder: &Path, path: &[u8]) -> bool {
    folder.join(to_os_str(path)).symlink_metadata().is_ok()
}

fn has_same_content(one: &Path, other: &Path) -> io::Result<bool> {
    if fs::metadata(one)?.len() != fs::metadata(other)?.len() {
        return Ok(false);
    }
    let open = |path| File::open(path).map(|file| io::BufReader::with_capacity(CHUNK_BYTES, file));
    let (mut one, mut other) = (open(one)?, open(other)?);
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let length = a.len().min(b.len());
        if a[..length] != b[..length] || (length == 0 && a.len() != b.len()) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        one.consume(length);
        other.consume(length);
    }
}

fn with_default_committer(git: Git) -> Git {
    let (name, email) = DEFAULT_COMMITTER;
    ["AUTHOR", "COMMITTER"].into_iter().fold(git, |git, role| {
        git.with_env(&format!("GIT_{role}_NAME"), name).with_env(&format!("GIT_{role}_EMAIL"), email)
    })
}

/// Copies an index with its time, which git uses to detect changes; returns whether there was one.
pub(crate) fn copy_index(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(from) {
        Ok(metadata) if metadata.is_file() => {
            fs::copy(from, to)?;
            set_time(to, &metadata)?;
            Ok(true)
        }
        Ok(_) => Err(io::Error::other("it is not a plain file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Sets a file's time to that of another.
fn set_time(path: &Path, source: &fs::Metadata) -> io::Result<()> {
    File::options().write(true).open(path)?.set_times(FileTimes::new().set_modified(source.modified()?))
}

fn entries(out: &[u8]) -> impl Iterator<Item = String> {
    out.split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
        .map(|entry| String::from_utf8_lossy(entry).into_owned())
}

fn to_os_str(bytes: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}
