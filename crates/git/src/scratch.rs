//! A throw-away checkout, whose files become those of any commit.

use std::path::Path;

use crate::confine::{MissingFilter, confine};
use crate::{Checkout, CheckoutRequest, Commit, Git, GitError, Repository};

/// What must not keep files of a commit out of it.
const PLAIN: [&str; 4] = ["-c", "core.sparseCheckout=false", "-c", "submodule.recurse=false"];

/// A throw-away checkout.
#[derive(Debug)]
pub struct ScratchCheckout {
    checkout: Checkout,
}

impl ScratchCheckout {
    /// Makes one, without files until a commit is shown. What an owner that died left in its place is removed.
    pub async fn make(
        repository: &Repository,
        root: &Path,
        order: CheckoutRequest,
    ) -> Result<ScratchCheckout, GitError> {
        Checkout::remove_left(root, order.id)?;
        Ok(ScratchCheckout { checkout: Checkout::make_empty(repository, root, order).await? })
    }

    /// The folder with the files.
    pub fn folder(&self) -> &Path {
        self.checkout.path()
    }

    /// Makes the files those of a commit. What is ignored stays, so that builds need not begin anew.
    pub async fn show(&self, commit: &Commit) -> Result<(), GitError> {
        // As in sealing, the settings of the checkout do not count: what ran in it may have changed them.
        let git = self.checkout.outer().with("GIT_INDEX_FILE", self.folder().join(".git/index"));
        let git = confine(git, MissingFilter::Plain).await?.git;
        git.done(&[&PLAIN[..], &["read-tree", "--reset", "-u", commit.as_str()]].concat(), &[]).await?;
        git.done(&["clean", "-ffdq"], &[]).await?;
        let head = ["update-ref", "--no-deref", "HEAD", commit.as_str()];
        self.checkout.git.done(&head, &[]).await.map(|_said| ())
    }

    /// The user's repository for what nobody will look for there: new objects stay in this checkout.
    pub fn aside(&self, repository: &Git) -> Git {
        repository.clone().with("GIT_OBJECT_DIRECTORY", self.folder().join(".git/objects"))
    }

    /// A file for an index of our own.
    pub(crate) fn index(&self) -> std::path::PathBuf {
        self.folder().join(".git/bosun-index")
    }

    /// Removes it with everything in it.
    pub fn remove(self) {
        self.checkout.undo();
    }
}
