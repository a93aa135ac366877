//! A whole folder as a tree, through an index of our own: whoever works in the folder keeps theirs.

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};

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

/// Most files that are named in an error.
const NAMED: usize = 10;

/// An index of our own; dropping it removes its file.
#[derive(Debug)]
pub(crate) struct Staging {
    git: Git,
    index: PathBuf,
}

impl Staging {
    /// Begins with a copy of the index at `from`, or with what `otherwise` holds if there is none.
    pub(crate) async fn copied(git: Git, from: &Path, index: &Path, otherwise: &Commit) -> Result<Staging, GitError> {
        let staging = Staging { git: git.with("GIT_INDEX_FILE", index), index: index.to_owned() };
        staging.clear();
        if copy(from, index).map_err(GitError::file(from))? {
            staging.require_merged().await?;
        } else {
            staging.git.done(&["read-tree", otherwise.as_str()], &[]).await?;
        }
        Ok(staging)
    }

    /// Brings in everything that is in the folder and not ignored, whatever marks in the index would hide.
    pub(crate) async fn stage_all(&self, folder: &Path) -> Result<(), GitError> {
        self.unmark(folder).await?;
        let args: Vec<&str> = PLAIN.into_iter().chain(["add", "--all", "--sparse", "--", "."]).collect();
        let git = self.git.at(folder);
        let said = git.done(&args, &[]).await?;
        // Git leaves out a folder that it may not read and takes what it knew there for removed, and calls that success.
        if said.err.contains(UNREAD) { Err(git.failed(&args, &said)) } else { Ok(()) }
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
        let links = entries(&said.out).filter_map(|entry| {
            let (head, path) = entry.split_once('\t')?;
            head.starts_with("160000 ").then(|| path.to_owned())
        });
        Ok(links.filter(|path| folder.join(path).join(".git").symlink_metadata().is_ok()).collect())
    }

    async fn require_merged(&self) -> Result<(), GitError> {
        let said = self.git.done(&["ls-files", "--unmerged", "-z"], &[]).await?;
        let mut files: Vec<String> =
            entries(&said.out).filter_map(|entry| entry.split_once('\t').map(|(_, path)| path.to_owned())).collect();
        files.dedup();
        files.truncate(NAMED);
        let path = self.git.folder().to_owned();
        if files.is_empty() { Ok(()) } else { Err(GitError::Unmerged { path, files }) }
    }

    /// Takes off the marks that say not to look at a file, unless the file is left out on purpose.
    async fn unmark(&self, folder: &Path) -> Result<(), GitError> {
        let said = self.git.done(&["ls-files", "-v", "-z"], &[]).await?;
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        for entry in said.out.split(|byte| *byte == 0).filter(|entry| entry.len() > 2) {
            let (mark, path) = (entry[0], &entry[2..]);
            let listed = if mark.is_ascii_lowercase() { Some(&mut assumed) } else { None };
            let is_there = || folder.join(os(path)).symlink_metadata().is_ok();
            let listed = if mark.eq_ignore_ascii_case(&b's') && is_there() { Some(&mut skipped) } else { listed };
            if let Some(listed) = listed {
                listed.extend_from_slice(path);
                listed.push(0);
            }
        }
        for (option, paths) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)] {
            if !paths.is_empty() {
                self.git.at(folder).done(&["update-index", option, "-z", "--stdin"], &paths).await?;
            }
        }
        Ok(())
    }

    /// Lets git read again what was staged in the folder's own repository. The contents are known there alone, and a file
    /// that looks as it did when it was staged would not be read. Of `base`, everything is known here.
    pub(crate) async fn forget_staged(&self, folder: &Path, base: &Commit) -> Result<(), GitError> {
        let args = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", base.as_str()];
        let said = self.git.done(&args, &[]).await?;
        let mut fields = said.out.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let mut anew = Vec::new();
        while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
            let change = String::from_utf8_lossy(change);
            let mut words = change.split(' ').skip(1);
            let (Some(mode), Some(id)) = (words.next(), words.nth(1)) else {
                return Err(self.git.odd("diff-index", &change));
            };
            let is_file = mode.starts_with("10") || mode == "120000";
            if is_file && folder.join(os(path)).symlink_metadata().is_ok() {
                anew.extend_from_slice(format!("{mode} {id} 0\t").as_bytes());
                anew.extend_from_slice(path);
                anew.push(0);
            }
        }
        if anew.is_empty() {
            return Ok(());
        }
        self.git.done(&["update-index", "-z", "--index-info"], &anew).await.map(|_said| ())
    }

    async fn is_known(&self) -> Result<bool, GitError> {
        Ok(self.git.run(&["config", "--get", "user.email"], &[]).await?.code == 0)
    }

    fn clear(&self) {
        for path in [self.index.clone(), self.index.with_added_extension("lock")] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(path = %path.display(), %error, "an index of our own stays");
                }
                Ok(()) | Err(_) => {}
            }
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.clear();
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
            File::options().write(true).open(to)?.set_times(FileTimes::new().set_modified(found.modified()?))?;
            Ok(true)
        }
        Ok(_) => Err(io::Error::other("it is no plain file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn entries(out: &[u8]) -> impl Iterator<Item = String> {
    out.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(|it| String::from_utf8_lossy(it).into_owned())
}

fn os(bytes: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}
