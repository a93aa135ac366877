//! A move of the work tree that was broken off: some files are as they were, some as they should be.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::{Commit, Git, GitError};

/// A broken-off move.
pub(crate) struct Torn<'a> {
    pub(crate) git: &'a Git,
    /// A file for an index of our own.
    pub(crate) index: &'a Path,
    pub(crate) from: &'a Commit,
    pub(crate) to: &'a Commit,
}

type Paths = BTreeSet<Vec<u8>>;

impl Torn<'_> {
    /// The files that are neither as they were nor as they should be: somebody else has changed them, or they are
    /// half written.
    pub(crate) async fn strange(&self) -> Result<Vec<String>, GitError> {
        let top = self.git.text(&["rev-parse", "--show-toplevel"]).await?;
        let git = self.git.at(&top);
        let moved = self.moved(&git).await?;
        let (unlike_old, unlike_new) = (self.unlike(&git, self.from).await?, self.unlike(&git, self.to).await?);
        let old = self.files(&git, self.from).await?;
        let strange = moved.iter().filter(|path| {
            // One that the old commit does not have is as it was only if it is not there.
            let is_old = match old.contains(*path) {
                true => !unlike_old.contains(*path),
                false => std::fs::symlink_metadata(Path::new(&top).join(OsStr::from_bytes(path))).is_err(),
            };
            !is_old && unlike_new.contains(*path)
        });
        Ok(strange.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// Makes every file of the move, and the index, as it should be.
    pub(crate) async fn finish(&self) -> Result<(), GitError> {
        let git = self.git.at(self.git.text(&["rev-parse", "--show-toplevel"]).await?);
        let index = paths(&git.done(&["ls-files", "-z"], &[]).await?.out);
        let new = self.files(&git, self.to).await?;
        // One that is gone from both is as it should be, and git would not know what is meant.
        let moved = self.moved(&git).await?.into_iter().filter(|path| index.contains(path) || new.contains(path));
        let paths: Vec<u8> = moved.flat_map(|path| [path, vec![0]].concat()).collect();
        let source = format!("--source={}", self.to);
        let args = ["--literal-pathspecs", "restore", &source, "--staged", "--worktree", "--no-overlay"];
        let from = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        git.done(&[&args[..], &from].concat(), &paths).await.map(|_said| ())
    }

    /// The files that the move concerns.
    async fn moved(&self, git: &Git) -> Result<Paths, GitError> {
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", self.from.as_str(), self.to.as_str()];
        Ok(paths(&git.done(&args, &[]).await?.out))
    }

    /// The files of a commit.
    async fn files(&self, git: &Git, commit: &Commit) -> Result<Paths, GitError> {
        let said = git.done(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit.as_str()], &[]).await?;
        Ok(paths(&said.out))
    }

    /// The files that are not as a commit has them.
    async fn unlike(&self, git: &Git, commit: &Commit) -> Result<Paths, GitError> {
        let git = git.clone().with("GIT_INDEX_FILE", self.index);
        git.done(&["read-tree", commit.as_str()], &[]).await?;
        git.run(&["update-index", "-q", "--refresh"], &[]).await?;
        Ok(paths(&git.done(&["diff-files", "-z", "--name-only"], &[]).await?.out))
    }
}

fn paths(out: &[u8]) -> Paths {
    out.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect()
}
