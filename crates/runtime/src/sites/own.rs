//! A checkout that a task has for itself.

use std::sync::Arc;

use git::{Checkout, CheckoutLease, GitError, SealedWork};
use tokio::sync::Mutex;

use super::Site;

/// A task's own checkout. This process holds a lease on it as long as it owns the session.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) site: Arc<Site>,
    checkout: Mutex<Checkout>,
    _lease: CheckoutLease,
}

impl Own {
    pub(super) fn new(site: Site, checkout: Checkout, lease: CheckoutLease) -> Own {
        Own { site: Arc::new(site), checkout: Mutex::new(checkout), _lease: lease }
    }

    /// Keeps what was made in it so far.
    pub(crate) async fn seal(&self) -> Result<SealedWork, GitError> {
        self.checkout.lock().await.seal().await
    }
}
