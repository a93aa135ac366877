//! Whether a checkout is what it must be: looked at before the first turn, and again by whoever takes it over.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::checkout::Checkout;
use crate::repository::find_commit;
use crate::since_made::is_large;
use crate::{Git, GitError};

impl Checkout {
    /// It is a repository of its own in the folder where it should be, whatever names lead there.
    pub async fn verify_ours(&self) -> Result<(), GitError> {
        let unfit = |why: &str| GitError::Unfit { path: self.path.clone(), why: why.to_owned() };
        match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(unfit("it is not a folder any more")),
            Err(_gone) => return Err(unfit("it is gone; start the task anew")),
        }
        if self.path.canonicalize().map_err(GitError::file(&self.path))? != self.path {
            return Err(unfit("it is reached through a link"));
        }
        if !is_own(&self.git, &self.path).await {
            return Err(unfit("git does not take it for a repository of its own"));
        }
        Ok(())
    }

    /// The same, and it is exactly what it began with.
    pub(crate) async fn verify_fresh(&self) -> Result<(), GitError> {
        self.verify_ours().await?;
        let unfit = |why: String| GitError::Unfit { path: self.path.clone(), why };
        match find_commit(&self.git, "HEAD").await? {
            Some(head) if head == self.record.base => {}
            Some(head) => return Err(unfit(format!("it is at {head} and not at {}", self.record.base))),
            None => return Err(unfit("it is at no commit".into())),
        }
        if is_large(&self.made_index()) && !self.folds_names().await? {
            // Of so many files, git's index says how they were written, and git believes it: it would look at each and
            // read none.
            return Ok(());
        }
        let changes =
            self.git.text(&["status", "--porcelain", "--ignore-submodules=all", "--untracked-files=no"]).await?;
        match changes.lines().next() {
            None => Ok(()),
            Some(first) => Err(unfit(format!("it differs from its commit as soon as it is made: {}", first.trim()))),
        }
    }

    /// Whether two files of a commit can be one file here.
    async fn folds_names(&self) -> Result<bool, GitError> {
        let said = self.git.run(&["config", "--type=bool", "core.ignoreCase"], &[]).await?;
        Ok(said.code == 0 && said.text() == "true")
    }
}

/// Whether git, started in this folder, works on this folder, with a repository that is all inside it.
pub(crate) async fn is_own(git: &Git, folder: &Path) -> bool {
    let inside = folder.join(".git");
    if !fs::symlink_metadata(&inside).is_ok_and(|found| found.is_dir()) {
        return false;
    }
    let args = ["rev-parse", "--show-toplevel", "--absolute-git-dir", "--path-format=absolute", "--git-common-dir"];
    let Ok(said) = git.done(&args, &[]).await else { return false };
    // A path with a line end gives more lines than there are paths.
    let lines = said.out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let paths: Vec<PathBuf> = lines.filter_map(|line| Path::new(OsStr::from_bytes(line)).canonicalize().ok()).collect();
    paths == [folder, inside.as_path(), inside.as_path()]
}
