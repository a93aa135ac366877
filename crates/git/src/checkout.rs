//! A task's own checkout: a private clone that borrows the objects of the user's repository and shares nothing else
//! with it, neither refs nor stash, config nor hooks.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::record::CheckoutRecord;
use crate::{CheckoutId, Commit, Git, GitError, Repository, populate};

/// A task's own checkout.
#[derive(Debug, Clone)]
pub struct Checkout {
    pub(crate) git: Git,
    pub(crate) root: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) record: CheckoutRecord,
}

/// A checkout to create.
#[derive(Debug, Clone)]
pub struct CheckoutRequest {
    /// Its session and task.
    pub id: CheckoutId,
    /// The task's name; its branch is named after it.
    pub name: String,
    /// The subject of the commit that seals its work; may be empty.
    pub title: String,
    /// The commit that it starts with.
    pub base: Commit,
}

impl Checkout {
    /// Creates a checkout in `root`, the folder of the session's checkouts, and verifies it. A failed attempt is
    /// removed again.
    pub async fn make(repository: &Repository, root: &Path, request: CheckoutRequest) -> Result<Checkout, GitError> {
        let checkout = Checkout::begin(repository, root, request).await?;
        let filled = checkout.fill(repository).await;
        checkout.or_undone(filled)
    }

    /// Creates a checkout without files.
    pub(crate) async fn make_empty(
        repository: &Repository,
        root: &Path,
        request: CheckoutRequest,
    ) -> Result<Checkout, GitError> {
        let checkout = Checkout::begin(repository, root, request).await?;
        let initialised = match checkout.record.write(&checkout.root) {
            Ok(()) => populate::init_repository(&checkout, repository).await,
            Err(error) => Err(error),
        };
        checkout.or_undone(initialised)
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

    async fn begin(repository: &Repository, root: &Path, request: CheckoutRequest) -> Result<Checkout, GitError> {
        let CheckoutRequest { id, name, title, base } = request;
        let path = root.join(id.task.to_string());
        if root.canonicalize().map_err(GitError::file(root))? != root {
            return Err(GitError::Unfit {
                path,
                why: "the path of its folder contains a link; use the real path".into(),
            });
        }
        // First of all: from here on, git cannot prune its objects.
        repository.pin(&id.base_ref(), &base).await?;
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => GitError::Taken(path.clone()),
            _ => GitError::file(&path)(error),
        })?;
        Ok(Checkout::leftover(repository, root, CheckoutRequest { id, name, title, base }))
    }

    /// The checkout that an earlier attempt at this request may have left, for the trash.
    pub fn leftover(repository: &Repository, root: &Path, request: CheckoutRequest) -> Checkout {
        let CheckoutRequest { id, name, title, base } = request;
        let (top, common) = (repository.top().to_owned(), repository.common().to_owned());
        Checkout::of(
            repository.git(),
            root,
            CheckoutRecord { id, name, title, repository: top, common, base, sealed: None, seen: None },
        )
    }

    /// Opens an existing checkout, if it is still there and valid.
    pub async fn open(git: &Git, root: &Path, id: CheckoutId) -> Result<Checkout, GitError> {
        let checkout = Checkout::of(git, root, CheckoutRecord::read(root, id)?);
        checkout.verify_ours().await?;
        Ok(checkout)
    }

    pub(crate) fn of(git: &Git, root: &Path, record: CheckoutRecord) -> Checkout {
        let path = root.join(record.id.task.to_string());
        // If it has no repository of its own, git must not find one above it.
        let git = git.at(&path).with("GIT_CEILING_DIRECTORIES", root).untrusting();
        Checkout { git, root: root.to_owned(), path, record }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its session and task.
    pub fn id(&self) -> CheckoutId {
        self.record.id
    }

    /// The task's name.
    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// The commit it started with.
    pub fn base(&self) -> &Commit {
        &self.record.base
    }

    /// The commit with its sealed work, once it was sealed.
    pub fn sealed(&self) -> Option<&Commit> {
        self.record.sealed.as_ref()
    }

    /// The top folder of the user's repository.
    pub fn repository(&self) -> &Path {
        &self.record.repository
    }

    pub(crate) fn made_index(&self) -> PathBuf {
        self.record.id.made_index(&self.root)
    }

    /// Notes for the user about a new checkout.
    pub async fn remarks(&self) -> Result<Vec<String>, GitError> {
        let mut remarks = Vec::new();
        if self.path.join(".gitmodules").symlink_metadata().is_ok() {
            remarks.push("its submodules are empty: run `git submodule update --init` for those you need".into());
        }
        if self.git.run(&["config", "--get-regexp", r"^filter\.lfs\."], &[]).await?.code == 0 {
            remarks.push("git lfs is configured for this user and applies here".into());
        }
        Ok(remarks)
    }

    /// The user's repository with this checkout as its work tree: its settings apply, and not those made in the
    /// checkout.
    pub(crate) fn outer(&self) -> Git {
        self.git.clone().trusting().with("GIT_DIR", &self.record.common).with("GIT_WORK_TREE", &self.path)
    }

    async fn fill(&self, repository: &Repository) -> Result<(), GitError> {
        self.record.write(&self.root)?;
        populate::populate(self, repository).await?;
        self.verify_fresh().await
    }

    /// Removes the remains of a checkout that is unused and contains nothing to keep.
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
            tracing::warn!(path = %self.path.display(), %error, "cannot remove a failed checkout");
        }
        self.forget();
    }
}
