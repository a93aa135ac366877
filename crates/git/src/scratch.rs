//! A scratch checkout, which can show the files of any commit.

use std::path::Path;

use crate::confine::{MissingFilter, confine};
use crate::{Checkout, CheckoutRequest, Commit, Git, GitError, Repository};

/// Overrides settings that would leave out files of a commit.
const WHOLE_COMMIT_SETTINGS: [&str; 4] = ["-c", "core.sparseCheckout=false", "-c", "submodule.recurse=false"];

/// A scratch checkout.
#[derive(Debug)]
pub struct ScratchCheckout {
    checkout: Checkout,
}

impl ScratchCheckout {
    /// Creates one, without files until a commit is shown. The remains of a previous owner's checkout are removed.
    pub async fn create(
        repository: &Repository,
        root: &Path,
        request: CheckoutRequest,
    ) -> Result<ScratchCheckout, GitError> {
        Checkout::remove_leftover(root, request.id)?;
        Ok(ScratchCheckout { checkout: Checkout::create_empty(repository, root, request).await? })
    }

    /// The folder with the files.
    pub fn folder(&self) -> &Path {
        self.checkout.path()
    }

    /// Checks out the files of a commit. Ignored files stay, so that builds need not start over.
    pub async fn check_out(&self, commit: &Commit) -> Result<(), GitError> {
        // As in sealing, the settings of the checkout do not apply: a program in it may have changed them.
        let git = self.checkout.user_repository().with_env("GIT_INDEX_FILE", self.folder().join(".git/index"));
        let git = confine(git, MissingFilter::Plain).await?.git;
        git.run_checked(&[&WHOLE_COMMIT_SETTINGS[..], &["read-tree", "--reset", "-u", commit.as_str()]].concat(), &[])
            .await?;
        git.run_checked(&["clean", "-ffdq"], &[]).await?;
        let head = ["update-ref", "--no-deref", "HEAD", commit.as_str()];
        self.checkout.git.run_checked(&head, &[]).await.map(|_output| ())
    }

    /// The user's repository for temporary data: new objects stay in this checkout.
    pub fn with_own_objects(&self, repository: &Git) -> Git {
        repository.clone().with_env("GIT_OBJECT_DIRECTORY", self.folder().join(".git/objects"))
    }

    /// The path of a temporary index.
    pub(crate) fn temporary_index(&self) -> std::path::PathBuf {
        self.folder().join(".git/bosun-index")
    }

    /// Removes it with everything in it.
    pub fn remove(self) {
        self.checkout.remove_folder();
    }
}
