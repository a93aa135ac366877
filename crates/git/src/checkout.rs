//! A checkout of a task's own: a private clone that borrows the objects of the user's repository and shares nothing else
//! with it, neither refs nor stash, config nor hooks.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::record::CheckoutRecord;
use crate::{CheckoutId, Commit, Git, GitError, Repository, populate};

/// A checkout of a task's own.
#[derive(Debug, Clone)]
pub struct Checkout {
    pub(crate) git: Git,
    pub(crate) root: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) record: CheckoutRecord,
}

/// What checkout to make.
#[derive(Debug, Clone)]
pub struct CheckoutRequest {
    /// Whose it is.
    pub id: CheckoutId,
    /// What people call the task; its branch is named after it.
    pub name: String,
    /// What its work is, in a line for the commit that keeps it; may be empty.
    pub title: String,
    /// The commit that it begins with.
    pub base: Commit,
}

impl Checkout {
    /// Makes a checkout in `root`, the folder of the session's checkouts, and looks whether it is one. What is begun and
    /// does not succeed is removed again.
    pub async fn make(repository: &Repository, root: &Path, order: CheckoutRequest) -> Result<Checkout, GitError> {
        let checkout = Checkout::begin(repository, root, order).await?;
        let filled = checkout.fill(repository).await;
        checkout.or_undone(filled)
    }

    /// The same without files.
    pub(crate) async fn make_empty(
        repository: &Repository,
        root: &Path,
        order: CheckoutRequest,
    ) -> Result<Checkout, GitError> {
        let checkout = Checkout::begin(repository, root, order).await?;
        let founded = match checkout.record.write(&checkout.root) {
            Ok(()) => populate::init_repository(&checkout, repository).await,
            Err(error) => Err(error),
        };
        checkout.or_undone(founded)
    }

    fn or_undone(self, made: Result<(), GitError>) -> Result<Checkout, GitError> {
        match made {
            Ok(()) => Ok(self),
            Err(error) => {
                self.undo();
                Err(error)
            }
        }
    }

    async fn begin(repository: &Repository, root: &Path, order: CheckoutRequest) -> Result<Checkout, GitError> {
        let CheckoutRequest { id, name, title, base } = order;
        let path = root.join(id.task.to_string());
        if root.canonicalize().map_err(GitError::file(root))? != root {
            return Err(GitError::Unfit {
                path,
                why: "its folder is reached through a link; use the folder itself".into(),
            });
        }
        // First of all: from here on, nothing that it is made of can be cleaned up.
        repository.pin(&id.base_ref(), &base).await?;
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => GitError::Taken(path.clone()),
            _ => GitError::file(&path)(error),
        })?;
        Ok(Checkout::leftover(repository, root, CheckoutRequest { id, name, title, base }))
    }

    /// What an earlier try at an order may have left in its place, for the trash.
    pub fn leftover(repository: &Repository, root: &Path, order: CheckoutRequest) -> Checkout {
        let CheckoutRequest { id, name, title, base } = order;
        let (top, common) = (repository.top().to_owned(), repository.common().to_owned());
        Checkout::of(
            repository.git(),
            root,
            CheckoutRecord { id, name, title, repository: top, common, base, sealed: None, seen: None },
        )
    }

    /// A checkout that was made before, if it is still there and what it says it is.
    pub async fn open(git: &Git, root: &Path, id: CheckoutId) -> Result<Checkout, GitError> {
        let checkout = Checkout::of(git, root, CheckoutRecord::read(root, id)?);
        checkout.verify_ours().await?;
        Ok(checkout)
    }

    pub(crate) fn of(git: &Git, root: &Path, record: CheckoutRecord) -> Checkout {
        let path = root.join(record.id.task.to_string());
        // Without a repository of its own in it, git must not find one above it.
        let git = git.at(&path).with("GIT_CEILING_DIRECTORIES", root).untrusting();
        Checkout { git, root: root.to_owned(), path, record }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whose it is.
    pub fn id(&self) -> CheckoutId {
        self.record.id
    }

    /// What people call its task.
    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// The commit it began with.
    pub fn base(&self) -> &Commit {
        &self.record.base
    }

    /// The commit that keeps what was made in it, once that was kept.
    pub fn sealed(&self) -> Option<&Commit> {
        self.record.sealed.as_ref()
    }

    /// The top of the user's repository.
    pub fn repository(&self) -> &Path {
        &self.record.repository
    }

    pub(crate) fn made_index(&self) -> PathBuf {
        self.record.id.made_index(&self.root)
    }

    /// What a person may wonder about in it, as soon as it is made.
    pub async fn remarks(&self) -> Result<Vec<String>, GitError> {
        let mut remarks = Vec::new();
        if self.path.join(".gitmodules").symlink_metadata().is_ok() {
            remarks
                .push("its submodules are empty: run `git submodule update --init` for those that are needed".into());
        }
        if self.git.run(&["config", "--get-regexp", r"^filter\.lfs\."], &[]).await?.code == 0 {
            remarks.push("git lfs is set up for this user and applies here".into());
        }
        Ok(remarks)
    }

    /// The user's repository, for what is done to this checkout's folder: its settings count, and not those that were
    /// made in the checkout.
    pub(crate) fn outer(&self) -> Git {
        self.git.clone().trusting().with("GIT_DIR", &self.record.common).with("GIT_WORK_TREE", &self.path)
    }

    async fn fill(&self, repository: &Repository) -> Result<(), GitError> {
        self.record.write(&self.root)?;
        populate::populate(self, repository).await?;
        self.verify_fresh().await
    }

    /// Removes what is left of a checkout that nobody works in and that holds nothing to keep.
    pub(crate) fn remove_left(root: &Path, id: CheckoutId) -> Result<(), GitError> {
        let name = id.task.to_string();
        let path = root.join(&name);
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        host::remove_below(root, Path::new(&name)).map(|_removed| ()).map_err(GitError::file(path))
    }

    pub(crate) fn undo(&self) {
        let name = self.record.id.task.to_string();
        let removed = host::remove_below(&self.root, Path::new(&name));
        if let Err(error) = removed {
            tracing::warn!(path = %self.path.display(), %error, "a checkout that could not be made stays");
        }
        self.forget();
    }
}
