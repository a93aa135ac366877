//! A whole folder as a tree, through an index of our own: whoever works in the folder keeps theirs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use crate::run::CommandOutput;
use crate::{Commit, Git, GitError};

/// Who commits when git knows nobody.
pub(crate) const NOBODY: (&str, &str) = ("Bosun worker", "worker@bosun.invalid");

/// What must not change how a folder is read: parts that are left out, caches beside an index, and refusals of line ends.
pub(crate) const PLAIN: [&str; 8] = [
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.safecrlf=false",
    "-c",
    "advice.addEmbeddedRepo=false",
];

/// How git speaks of a folder that it may not read.
const UNREAD: &str = "could not open directory";

/// How much of two files is compared at a time.
const CHUNK: usize = 64 << 10;

/// Most files that are named in an error.
const NAMED: usize = 10;

/// What the folder's own index says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnIndex {
    /// The same as ours.
    Same,
    /// Something else.
    Else,
    /// Something else, and that files are left out of the folder on purpose.
    LeavesOut,
}

/// An index of our own; dropping it removes its file.
#[derive(Debug)]
pub(crate) struct StagingIndex {
    git: Git,
    index: PathBuf,
}

impl StagingIndex {
    /// Begins with a copy of the index at `from`, or with what `otherwise` holds if there is none.
    pub(crate) async fn copied(
        git: Git,
        from: &Path,
        index: &Path,
        otherwise: &Commit,
    ) -> Result<StagingIndex, GitError> {
        let staging = StagingIndex::new(git, index);
        match copy(from, index).map_err(GitError::file(from))? {
            true => Ok(staging),
            false => staging.filled(otherwise).await,
        }
    }

    /// Begins with what a commit holds, and knows nothing of the state of files.
    pub(crate) async fn of(git: Git, index: &Path, commit: &Commit) -> Result<StagingIndex, GitError> {
        StagingIndex::new(git, index).filled(commit).await
    }

    async fn filled(self, commit: &Commit) -> Result<StagingIndex, GitError> {
        self.git.done(&["read-tree", commit.as_str()], &[]).await?;
        Ok(self)
    }

    fn new(git: Git, index: &Path) -> StagingIndex {
        let staging = StagingIndex { git: git.with("GIT_INDEX_FILE", index), index: index.to_owned() };
        staging.clear();
        staging
    }

    /// The same, unless a merge is under way in the index.
    pub(crate) async fn merged(
        git: Git,
        from: &Path,
        index: &Path,
        otherwise: &Commit,
    ) -> Result<StagingIndex, GitError> {
        let staging = StagingIndex::copied(git, from, index, otherwise).await?;
        staging.require_merged().await?;
        Ok(staging)
    }

    /// Brings in everything that is in the folder and not ignored, whatever marks in the index would hide.
    pub(crate) async fn stage_all(&self, folder: &Path) -> Result<(), GitError> {
        self.unmark(folder).await?;
        self.add_all(folder).await
    }

    /// The same of an index without such marks, but for files that are left out and not there.
    pub(crate) async fn add_all(&self, folder: &Path) -> Result<(), GitError> {
        let args: Vec<&str> = PLAIN.into_iter().chain(["add", "--all", "--sparse", "--", "."]).collect();
        let git = self.git.at(folder);
        let said = self.write(&git, &args, &[]).await?;
        // Git leaves out a folder that it may not read and takes what it knew there for removed, and calls that success.
        if said.err.contains(UNREAD) { Err(git.failed(&args, &said)) } else { Ok(()) }
    }

    /// Brings in what is at some paths or below them and not ignored, as far as it differs from what the index has.
    pub(crate) async fn add(&self, folder: &Path, paths: &BTreeSet<PathBuf>) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let git = self.git.at(folder);
        let list = |command: &[&'static str]| -> Vec<&OsStr> {
            let words = PLAIN.into_iter().chain(["--literal-pathspecs"]).chain(command.iter().copied());
            words.map(OsStr::new).chain([OsStr::new("--")]).chain(paths.iter().map(AsRef::as_ref)).collect()
        };
        let known = list(&["diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=none"]);
        let others = list(&["ls-files", "-z", "--others", "--exclude-standard"]);
        let (known, new) = tokio::try_join!(git.done(&known, &[]), git.done(&others, &[]))?;
        // Git leaves out a folder that it may not read, and calls that success.
        if new.err.contains(UNREAD) {
            return Err(git.failed(&others, &new));
        }
        let differ = [known.out, new.out].concat();
        if differ.is_empty() {
            return Ok(());
        }
        // Only what git would bring in itself: it refuses paths that are ignored.
        let add = ["--literal-pathspecs", "add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let add: Vec<&str> = PLAIN.into_iter().chain(add).collect();
        self.write(&git, &add, &differ).await.map(|_said| ())
    }

    /// What was brought in, as a tree.
    pub(crate) async fn tree(&self) -> Result<String, GitError> {
        self.git.text(&["write-tree"]).await
    }

    /// What was brought in, on top of a commit; that commit itself if it holds the same.
    pub(crate) async fn commit(&self, parent: &Commit, message: &str) -> Result<Commit, GitError> {
        let tree = self.tree().await?;
        if self.git.text(&["rev-parse", &format!("{parent}^{{tree}}")]).await? == tree {
            return Ok(parent.clone());
        }
        let git = if self.is_known().await? { self.git.clone() } else { as_nobody(self.git.clone()) };
        let name = git.done(&["commit-tree", "-p", parent.as_str(), &tree], message.as_bytes()).await?.text();
        let folder = git.folder().to_owned();
        Commit::new(&name).ok_or(GitError::Failed { command: "commit-tree".into(), folder, said: name })
    }

    /// The repositories inside the folder: of them only the commit they are at can be brought in.
    pub(crate) async fn repositories(&self, folder: &Path) -> Result<Vec<String>, GitError> {
        let said = self.git.done(&["ls-files", "--stage", "-z"], &[]).await?;
        let links = said.out.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
        let paths = links.filter_map(|entry| Some(os(&entry[entry.iter().position(|byte| *byte == b'\t')? + 1..])));
        let known = paths.filter(|path| folder.join(path).join(".git").symlink_metadata().is_ok());
        Ok(known.map(|path| path.to_string_lossy().into_owned()).collect())
    }

    async fn require_merged(&self) -> Result<(), GitError> {
        let said = self.git.done(&["ls-files", "--unmerged", "-z"], &[]).await?;
        let mut files: Vec<String> =
            entries(&said.out).filter_map(|entry| entry.split_once('\t').map(|(_, path)| path.to_owned())).collect();
        files.dedup();
        self.unmerged(files)
    }

    fn unmerged(&self, mut files: Vec<String>) -> Result<(), GitError> {
        files.truncate(NAMED);
        let path = self.git.folder().to_owned();
        if files.is_empty() { Ok(()) } else { Err(GitError::Unmerged { path, files }) }
    }

    /// Takes off the marks that say not to look at a file, unless the file is left out on purpose.
    async fn unmark(&self, folder: &Path) -> Result<(), GitError> {
        let IndexMarks { assumed, skipped } = IndexMarks::read(&self.git).await?;
        let there = skipped.into_iter().filter(|path| is_there(folder, path)).collect();
        self.mark("--no-assume-unchanged", assumed).await?;
        self.mark("--no-skip-worktree", there).await
    }

    async fn mark(&self, option: &str, paths: Vec<Vec<u8>>) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let paths: Vec<u8> = paths.into_iter().flat_map(|path| path.into_iter().chain([0])).collect();
        self.write(&self.git, &["update-index", option, "-z", "--stdin"], &paths).await.map(|_said| ())
    }

    /// Takes over what the folder's own index at `own` says: which files count though they are ignored, which do not count
    /// any more, and which are left out on purpose. Whoever works in the folder writes that index, so nothing that it says
    /// of the state of files is believed: what it has otherwise than `base` is read anew, and what it has as `base` does
    /// is looked at as this index knows it.
    pub(crate) async fn follow(&self, folder: &Path, own: &Path, base: &Commit) -> Result<OwnIndex, GitError> {
        let theirs = self.theirs();
        if !copy(own, &theirs).map_err(GitError::file(own))? {
            return Ok(OwnIndex::Else);
        }
        // Most of them never write it.
        if is_same(&theirs, &self.index).map_err(GitError::file(&theirs))? {
            return Ok(OwnIndex::Same);
        }
        let git = self.git.clone().with("GIT_INDEX_FILE", &theirs);
        let mut skipped = IndexMarks::read(&git).await?.skipped;
        skipped.retain(|path| !is_there(folder, path));
        // Git lists files in the order of their bytes.
        let is_skipped = |path: &[u8]| skipped.binary_search_by(|it| it.as_slice().cmp(path)).is_ok();
        let anew = self.otherwise(&git, base, |path| is_there(folder, path) || is_skipped(path)).await?;
        if !anew.is_empty() {
            self.write(&self.git, &["update-index", "-z", "--index-info"], &anew).await?;
        }
        let says = if skipped.is_empty() { OwnIndex::Else } else { OwnIndex::LeavesOut };
        self.mark("--skip-worktree", skipped).await?;
        Ok(says)
    }

    /// Forgets the state of files, so that they are read again.
    pub(crate) async fn read_again(&self, paths: &[&Path]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let args = ["--literal-pathspecs", "ls-files", "--stage", "-z", "--"].map(OsStr::new);
        let args: Vec<&OsStr> = args.into_iter().chain(paths.iter().map(AsRef::as_ref)).collect();
        let known = self.git.done(&args, &[]).await?.out;
        if known.is_empty() {
            return Ok(());
        }
        self.write(&self.git, &["update-index", "-z", "--index-info"], &known).await.map(|_said| ())
    }

    /// Runs a command that writes the index. One with a time ahead keeps it: it counts for the files that are known, and
    /// the next command would read them again.
    async fn write(&self, git: &Git, args: &[&str], input: &[u8]) -> Result<CommandOutput, GitError> {
        let before = self.metadata()?;
        let said = git.done(args, input).await?;
        let is_ahead = before.modified().ok() > self.metadata()?.modified().ok();
        if is_ahead {
            date(&self.index, &before).map_err(GitError::file(&self.index))?;
        }
        Ok(said)
    }

    fn metadata(&self) -> Result<fs::Metadata, GitError> {
        fs::metadata(&self.index).map_err(GitError::file(&self.index))
    }

    /// What another index has otherwise than `base`, as git takes it for this one: without the state of files, so that
    /// they are read again. The contents may be known in the folder's own repository alone.
    async fn otherwise(&self, git: &Git, base: &Commit, counts: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>, GitError> {
        let args = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", base.as_str()];
        let said = git.done(&args, &[]).await?;
        let mut fields = said.out.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let (mut anew, mut unmerged) = (Vec::new(), Vec::new());
        while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
            let change = String::from_utf8_lossy(change);
            let words: Vec<&str> = change.split(' ').collect();
            let [_, mode, _, id, kind] = words[..] else { return Err(git.odd("diff-index", &change)) };
            if kind == "U" {
                unmerged.push(String::from_utf8_lossy(path).into_owned());
            } else if mode == "000000" || counts(path) {
                anew.extend_from_slice(format!("{mode} {id} 0\t").as_bytes());
                anew.extend_from_slice(path);
                anew.push(0);
            }
        }
        unmerged.dedup();
        self.unmerged(unmerged)?;
        Ok(anew)
    }

    /// Where another index is looked at.
    fn theirs(&self) -> PathBuf {
        self.index.with_added_extension("theirs")
    }

    async fn is_known(&self) -> Result<bool, GitError> {
        Ok(self.git.run(&["config", "--get", "user.email"], &[]).await?.code == 0)
    }

    fn clear(&self) {
        for path in [self.index.clone(), self.index.with_added_extension("lock"), self.theirs()] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(path = %path.display(), %error, "an index of our own stays");
                }
                Ok(()) | Err(_) => {}
            }
        }
    }
}

impl Drop for StagingIndex {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The files of an index that git is told not to look at.
#[derive(Debug, Default)]
struct IndexMarks {
    /// Taken for unchanged.
    assumed: Vec<Vec<u8>>,
    /// Left out of the folder.
    skipped: Vec<Vec<u8>>,
}

impl IndexMarks {
    async fn read(git: &Git) -> Result<IndexMarks, GitError> {
        let said = git.done(&["ls-files", "-v", "-z"], &[]).await?;
        let mut marks = IndexMarks::default();
        for entry in said.out.split(|byte| *byte == 0).filter(|entry| entry.len() > 2) {
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

fn is_there(folder: &Path, path: &[u8]) -> bool {
    folder.join(os(path)).symlink_metadata().is_ok()
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    if fs::metadata(one)?.len() != fs::metadata(other)?.len() {
        return Ok(false);
    }
    let open = |path| File::open(path).map(|file| io::BufReader::with_capacity(CHUNK, file));
    let (mut one, mut other) = (open(one)?, open(other)?);
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let some = a.len().min(b.len());
        if a[..some] != b[..some] || (some == 0 && a.len() != b.len()) {
            return Ok(false);
        }
        if some == 0 {
            return Ok(true);
        }
        one.consume(some);
        other.consume(some);
    }
}

fn as_nobody(git: Git) -> Git {
    let (name, email) = NOBODY;
    ["AUTHOR", "COMMITTER"]
        .into_iter()
        .fold(git, |git, who| git.with(&format!("GIT_{who}_NAME"), name).with(&format!("GIT_{who}_EMAIL"), email))
}

/// Copies an index with its time, by which git knows what may have changed since; tells whether there was one.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(from) {
        Ok(found) if found.is_file() => {
            fs::copy(from, to)?;
            date(to, &found)?;
            Ok(true)
        }
        Ok(_) => Err(io::Error::other("it is not a plain file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives a file the time of another.
fn date(path: &Path, as_of: &fs::Metadata) -> io::Result<()> {
    File::options().write(true).open(path)?.set_times(FileTimes::new().set_modified(as_of.modified()?))
}

fn entries(out: &[u8]) -> impl Iterator<Item = String> {
    out.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(|it| String::from_utf8_lossy(it).into_owned())
}

fn os(bytes: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}
