//! The user's repository: where it is, what its HEAD is, and its uncommitted work as a commit that nobody sees.

use std::path::{Path, PathBuf};

use crate::staging::Staging;
use crate::{Commit, Git, GitError};

/// A repository with files, as the user works in it.
#[derive(Debug, Clone)]
pub struct Repository {
    git: Git,
    top: PathBuf,
    git_dir: PathBuf,
    common: PathBuf,
    below: PathBuf,
}

impl Repository {
    /// The repository that the folder of `git` is in.
    pub async fn find(git: &Git) -> Result<Repository, GitError> {
        let folder = git.folder().canonicalize().map_err(|_gone| GitError::NoRepository(git.folder().to_owned()))?;
        let git = git.at(&folder);
        let inside = git.run(&["rev-parse", "--is-inside-work-tree"], &[]).await?;
        match (inside.code, inside.text().as_str()) {
            (0, "true") => {}
            (0, _) => return Err(GitError::Bare(folder)),
            _ if inside.err.contains("not a git repository") => return Err(GitError::NoRepository(folder)),
            _ => return Err(GitError::Failed { command: "rev-parse".into(), folder, said: inside.err }),
        }
        let top = path_of(&git, &["rev-parse", "--show-toplevel"]).await?;
        let git_dir = path_of(&git, &["rev-parse", "--absolute-git-dir"]).await?;
        let common = path_of(&git, &["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?;
        let below = folder.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        Ok(Repository { git: git.at(&top), top, git_dir, common, below })
    }

    /// The folder of its files.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Where it keeps objects and refs; linked worktrees share it.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// The way from the top to the folder that it was found from.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// Git at its top.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The commit that its HEAD is at.
    pub async fn head(&self) -> Result<Commit, GitError> {
        find_commit(&self.git, "HEAD").await?.ok_or_else(|| GitError::Unborn(self.top.clone()))
    }

    /// The commit that goes by this name: a branch, a tag, or its own.
    pub async fn commit(&self, name: &str) -> Result<Commit, GitError> {
        let missing = || GitError::NoCommit { name: name.to_owned(), repository: self.top.clone() };
        find_commit(&self.git, name).await?.ok_or_else(missing)
    }

    /// Keeps a commit from being cleaned up, under a ref of ours.
    pub async fn pin(&self, name: &str, commit: &Commit) -> Result<(), GitError> {
        self.git.done(&["update-ref", name, commit.as_str()], &[]).await.map(|_said| ())
    }

    /// HEAD with everything that is not committed, as a commit under the ref `pin`; HEAD itself if there is nothing. The
    /// user's index, files, stash and refs stay as they are: `scratch` is where an index of our own is kept meanwhile.
    pub async fn snapshot_dirty(&self, scratch: &Path, pin: &str) -> Result<Commit, GitError> {
        let head = self.head().await?;
        let staging = Staging::copied(self.git.clone(), &self.git_dir.join("index"), scratch, &head).await?;
        staging.stage_all(&self.top).await?;
        let commit = staging.commit(&head, "Uncommitted work, as it was when an agent began").await?;
        self.pin(pin, &commit).await?;
        Ok(commit)
    }
}

/// The commit of a name, if there is one.
pub(crate) async fn find_commit(git: &Git, name: &str) -> Result<Option<Commit>, GitError> {
    let name = format!("{name}^{{commit}}");
    let said = git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], &[]).await?;
    Ok(Some(said).filter(|said| said.code == 0).and_then(|said| Commit::new(&said.text())))
}

/// A path that git tells.
pub(crate) async fn path_of(git: &Git, args: &[&str]) -> Result<PathBuf, GitError> {
    use std::os::unix::ffi::OsStrExt;
    let said = git.done(args, &[]).await?;
    let bytes = said.out.strip_suffix(b"\n").unwrap_or(&said.out);
    let path = Path::new(std::ffi::OsStr::from_bytes(bytes));
    path.canonicalize().map_err(GitError::file(path))
}
