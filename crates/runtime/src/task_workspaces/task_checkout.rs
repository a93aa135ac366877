//! The checkout of a task.

use std::sync::Arc;

use git::{Checkout, CheckoutLease, GitError, SealedWork};
use tokio::sync::Mutex;

use super::TaskWorkspace;

/// A task's own checkout. This process holds a lease on it while it owns the session.
#[derive(Debug)]
pub(crate) struct TaskCheckout {
    pub(crate) workspace: Arc<TaskWorkspace>,
    checkout: Mutex<Checkout>,
    _lease: CheckoutLease,
}

impl TaskCheckout {
    pub(super) fn new(workspace: TaskWorkspace, checkout: Checkout, lease: CheckoutLease) -> TaskCheckout {
        TaskCheckout { workspace: Arc::new(workspace), checkout: Mutex::new(checkout), _lease: lease }
    }

    /// Seals the work made in it so far.
    pub(crate) async fn seal(&self) -> Result<SealedWork, GitError> {
        self.checkout.lock().await.seal().await
    }
}
