//! Removes the checkouts of a fleet whose work is in the result; all others stay.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use git::{Checkout, CheckoutId, Commit, DiscardOutcome, Git, GitError};
use protocol::{LeftoverCheckout, TaskId};

use super::fleet_work::FleetWork;
use super::merger::FleetMerger;

/// How many checkouts are removed concurrently.
const MAX_CONCURRENT_REMOVALS: usize = 8;

impl FleetMerger {
    /// Removes the checkouts of workers whose work is part of `tip`; returns those that stay.
    pub(super) async fn remove_checkouts(&self, work: &FleetWork, git: &Git, tip: &Commit) -> Vec<LeftoverCheckout> {
        let busy = self.busy_checkouts().await;
        let remove = |(task, path): (&TaskId, &String)| {
            let (task, path, sealed) = (*task, path.clone(), work.sealed(*task).cloned());
            let is_busy = busy.as_ref().is_none_or(|busy| busy.contains(&task));
            async move {
                let why = if is_busy {
                    Some("a task is working in it".into())
                } else {
                    self.remove_checkout(git, task, sealed, tip).await
                };
                why.map(|why| LeftoverCheckout { task: task.to_string(), path, why })
            }
        };
        let leftovers: Vec<Option<LeftoverCheckout>> = futures_util::stream::iter(work.checkouts.iter().map(remove))
            .buffered(MAX_CONCURRENT_REMOVALS)
            .collect()
            .await;
        leftovers.into_iter().flatten().collect()
    }

    /// Removes the session's refs to work that is now in the user's branch, as its history or as one commit. All other
    /// refs stay.
    pub(super) async fn drop_landed_refs(&self, git: &Git, tip: &Commit) {
        let refs = format!("refs/bosun/{}/", self.session.id());
        for holder in [tip.as_str(), "HEAD"] {
            if let Err(error) = git::remove_contained_refs(git, holder, &refs).await {
                tracing::info!(%error, "refs to work that has landed stay");
            }
        }
    }

    /// Removes a checkout, or returns the reason why it stays.
    async fn remove_checkout(&self, git: &Git, task: TaskId, sealed: Option<Commit>, tip: &Commit) -> Option<String> {
        let Some(sealed) = sealed else { return Some("it has unfinished work that is stored nowhere else".into()) };
        match git::contains_commit(git, tip, &sealed).await {
            Ok(true) => {}
            Ok(false) => return Some(format!("its work, {sealed}, is not in the result")),
            Err(error) => return Some(error.to_string()),
        }
        match self.discard(git, task).await {
            Ok(Some(DiscardOutcome::Trashed { name, why })) => Some(format!("it is in the trash as {name}: {why}")),
            Ok(Some(DiscardOutcome::Removed(_)) | None) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    /// Discards a checkout; returns `None` if an earlier owner process already did.
    async fn discard(&self, git: &Git, task: TaskId) -> Result<Option<DiscardOutcome>, GitError> {
        let (home, now) = (self.session.home(), self.session.clock().now());
        let id = CheckoutId { session: self.session.id(), task };
        // Dropping the checkout also drops its lease.
        self.session.release_checkout(task);
        let root = home.checkouts_dir().join(self.session.id().to_string());
        if root.join(task.to_string()).symlink_metadata().is_err() {
            return Ok(None);
        }
        let root = root.canonicalize().map_err(|error| GitError::File { path: root, said: error.to_string() })?;
        Checkout::open(git, &root, id).await?.discard(home, now).await.map(Some)
    }

    /// The owners of checkouts in which tasks are working; `None` if unknown.
    async fn busy_checkouts(&self) -> Option<BTreeSet<TaskId>> {
        let busy = |kernel: &kernel::Kernel| -> Vec<TaskId> {
            kernel.tasks().filter(|task| !task.is_finished()).map(|task| task.id).collect()
        };
        let busy = self.session.query(busy).await.ok()?;
        Some(busy.into_iter().filter_map(|task| self.session.checkout_owner(task)).collect())
    }
}
