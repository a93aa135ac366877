//! Verifies a checkout: before the first turn, and again when another process adopts it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::checkout::Checkout;
use crate::repository::find_commit;
use crate::since_made::is_large;
use crate::{Git, GitError};

impl Checkout {
    /// Checks that it is a repository of its own at its path, without links.
    pub async fn verify_ours(&self) -> Result<(), GitError> {
        let unfit = |why: &str| GitError::Unfit { path: self.path.clone(), why: why.to_owned() };
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(unfit("it is no longer a folder")),
            Err(_gone) => return Err(unfit("it is gone; start the task again")),
        }
        if self.path.canonicalize().map_err(GitError::file(&self.path))? != self.path {
            return Err(unfit("its path contains a link"));
        }
        if !is_own_repository(&self.git, &self.path).await {
            return Err(unfit("git does not treat it as a repository of its own"));
        }
        Ok(())
    }

    /// Checks also that it is exactly its base commit.
    pub(crate) async fn verify_fresh(&self) -> Result<(), GitError> {
        self.verify_ours().await?;
        let unfit = |why: String| GitError::Unfit { path: self.path.clone(), why };
        match find_commit(&self.git, "HEAD").await? {
            Some(head) if head == self.record.base => {}
            Some(head) => return Err(unfit(format!("it is at {head}, not at {}", self.record.base))),
            None => return Err(unfit("it has no commit".into())),
        }
        if is_large(&self.made_index()) && !self.ignores_case().await? {
            // With so many files, git trusts its index about how they were written: it would examine each and read
            // none.
            return Ok(());
        }
        let changes =
            self.git.text(&["status", "--porcelain", "--ignore-submodules=all", "--untracked-files=no"]).await?;
        match changes.lines().next() {
            None => Ok(()),
            Some(first) => Err(unfit(format!("it differs from its commit right after its creation: {}", first.trim()))),
        }
    }

    /// Whether two files of a commit can be the same file here.
    async fn ignores_case(&self) -> Result<bool, GitError> {
        let output = self.git.run(&["config", "--type=bool", "core.ignoreCase"], &[]).await?;
        Ok(output.code == 0 && output.run_for_text() == "true")
    }
}

/// Whether git, started in this folder, works on this folder, with a repository that is entirely inside it.
pub(crate) async fn is_own_repository(git: &Git, folder: &Path) -> bool {
    let inside = folder.join(".git");
    if !fs::symlink_metadata(&inside).is_ok_and(|metadata| metadata.is_dir()) {
        return false;
    }
    let args = ["rev-parse", "--show-toplevel", "--absolute-git-dir", "--path-format=absolute", "--git-common-dir"];
    let Ok(output) = git.run_checked(&args, &[]).await else { return false };
    // A path with a line break gives more lines than there are paths.
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let paths: Vec<PathBuf> = lines.filter_map(|line| Path::new(OsStr::from_bytes(line)).canonicalize().ok()).collect();
    paths == [folder, inside.as_path(), inside.as_path()]
}
