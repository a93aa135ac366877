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
    /// The folder of the session's checkouts.
    pub(crate) session_dir: PathBuf,
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
    pub async fn create(repository: &Repository, root: &Path, request: CheckoutRequest) -> Result<Checkout, GitError> {
        let checkout = Checkout::reserve(repository, root, request).await?;
        let filled = checkout.populate(repository).await;
        checkout.or_remove(filled)
    }

    /// Creates a checkout without files.
    pub(crate) async fn create_empty(
        repository: &Repository,
        root: &Path,
        request: CheckoutRequest,
    ) -> Result<Checkout, GitError> {
        let checkout = Checkout::reserve(repository, root, request).await?;
        let initialised = match checkout.record.write(&checkout.session_dir) {
            Ok(()) => populate::init_repository(&checkout, repository).await,
            Err(error) => Err(error),
        };
        checkout.or_remove(initialised)
    }

    /// Returns the checkout, or removes it if it could not be created.
    fn or_remove(self, made: Result<(), GitError>) -> Result<Checkout, GitError> {
        match made {
            Ok(()) => Ok(self),
            Err(error) => {
                self.remove_folder();
                Err(error)
            }
        }
    }

    async fn reserve(repository: &Repository, root: &Path, request: CheckoutRequest) -> Result<Checkout, GitError> {
        let CheckoutRequest { id, name, title, base } = request;
        let path = root.join(id.task.to_string());
        if root.canonicalize().map_err(GitError::file(root))? != root {
            return Err(GitError::Unfit {
                path,
                why: "the path of its folder contains a link; use the real path".into(),
            });
        }
        // This comes first: from here on, git cannot prune the checkout's objects.
        repository.pin(&id.base_ref(), &base).await?;
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => GitError::Taken(path.clone()),
            _ => GitError::file(&path)(error),
        })?;
        Ok(Checkout::possible_leftover(repository, root, CheckoutRequest { id, name, title, base }))
    }

    /// The checkout that an earlier attempt at this request may have left, for the trash.
    pub fn possible_leftover(repository: &Repository, root: &Path, request: CheckoutRequest) -> Checkout {
        let CheckoutRequest { id, name, title, base } = request;
        let (top, common) = (repository.top().to_owned(), repository.common().to_owned());
        Checkout::from_record(
            repository.git(),
            root,
            CheckoutRecord { id, name, title, repository: top, common, base, sealed: None, seen: None },
        )
    }

    /// Opens an existing checkout, if it is still there and valid.
    pub async fn open(git: &Git, root: &Path, id: CheckoutId) -> Result<Checkout, GitError> {
        let checkout = Checkout::from_record(git, root, CheckoutRecord::read(root, id)?);
        checkout.verify_ours().await?;
        Ok(checkout)
    }

    pub(crate) fn from_record(git: &Git, root: &Path, record: CheckoutRecord) -> Checkout {
        let path = root.join(record.id.task.to_string());
        // If it has no repository of its own, git must not find one above it.
        let git = git.in_folder(&path).with_env("GIT_CEILING_DIRECTORIES", root).without_fetching();
        Checkout { git, session_dir: root.to_owned(), path, record }
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
        self.record.id.made_index(&self.session_dir)
    }

    /// Notes for the user about a new checkout.
    pub async fn notes(&self) -> Result<Vec<String>, GitError> {
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
    pub(crate) fn user_repository(&self) -> Git {
        self.git.clone().with_fetching().with_env("GIT_DIR", &self.record.common).with_env("GIT_WORK_TREE", &self.path)
    }

    async fn populate(&self, repository: &Repository) -> Result<(), GitError> {
        self.record.write(&self.session_dir)?;
        populate::populate(self, repository).await?;
        self.verify_fresh().await
    }

    /// Removes the rest of an unused checkout that contains nothing to keep.
    pub(crate) fn remove_leftover(root: &Path, id: CheckoutId) -> Result<(), GitError> {
        let name = id.task.to_string();
        let path = root.join(&name);
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        host::remove_below(root, Path::new(&name)).map(|_removed| ()).map_err(GitError::file(path))
    }

    pub(crate) fn remove_folder(&self) {
        let name = self.record.id.task.to_string();
        let removed = host::remove_below(&self.session_dir, Path::new(&name));
        if let Err(error) = removed {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove a failed checkout");
        }
        self.remove_companion_files();
    }
}
