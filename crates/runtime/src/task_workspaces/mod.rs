//! The workspaces of tasks: the session's folder, or a checkout. A task below one that has a checkout works there too.
//! A task that needs a checkout does not start without it.

mod placement;
mod task_checkout;
mod task_workspace;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::Home;
use protocol::TaskId;
use tokio::task::JoinSet;

pub(crate) use placement::{TaskWorkspaceError, ensure_workspace};
pub(crate) use task_checkout::TaskCheckout;
pub(crate) use task_workspace::{CommandEnv, TaskWorkspace};

use crate::run_requests::CheckoutOwner;

/// The pause before each round of removals, beginning when the first checkout was created. File systems are slow to
/// create files while others are removed, and more checkouts may be created soon.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(20);

/// The workspaces of a session's tasks.
#[derive(Debug)]
pub(crate) struct TaskWorkspaces {
    /// The session's folder.
    shared: Arc<TaskWorkspace>,
    checkouts: Mutex<HashMap<TaskId, Arc<TaskCheckout>>>,
    /// Held while an existing checkout is opened, so that it is opened once.
    opening: tokio::sync::Mutex<()>,
    /// Removes unneeded checkouts while tasks work.
    removing: Mutex<JoinSet<()>>,
}

impl TaskWorkspaces {
    pub(crate) fn new(shared: TaskWorkspace) -> TaskWorkspaces {
        let (checkouts, opening) = (Mutex::default(), tokio::sync::Mutex::default());
        TaskWorkspaces { shared: Arc::new(shared), checkouts, opening, removing: Mutex::default() }
    }

    /// Finishes the removal of checkouts while tasks work: those of this process and those left by ended processes.
    pub(crate) fn finish_removals(&self, home: &Home) {
        let mut removing = self.removing.lock().unwrap_or_else(PoisonError::into_inner);
        if removing.is_empty() {
            let home = home.clone();
            removing.spawn(async move {
                loop {
                    tokio::time::sleep(REMOVAL_INTERVAL).await;
                    let home = home.clone();
                    let _removed = tokio::task::spawn_blocking(move || git::finish_removals(&home)).await;
                }
            });
        }
    }

    /// The session's folder.
    pub(crate) fn shared(&self) -> Arc<TaskWorkspace> {
        Arc::clone(&self.shared)
    }

    /// The checkout of a task itself.
    pub(crate) fn checkout(&self, task: TaskId) -> Option<Arc<TaskCheckout>> {
        self.checkouts.lock().unwrap_or_else(PoisonError::into_inner).get(&task).cloned()
    }

    /// Takes the checkout of a task that has ended. Its lease ends when the returned value is dropped.
    pub(crate) fn take_checkout(&self, task: TaskId) -> Option<Arc<TaskCheckout>> {
        self.checkouts.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }

    fn insert(&self, task: TaskId, checkout: TaskCheckout) {
        self.checkouts.lock().unwrap_or_else(PoisonError::into_inner).insert(task, Arc::new(checkout));
    }

    /// The workspace of a task whose checkout belongs to this owner; without one, the session's folder.
    pub(crate) fn workspace(&self, checkout: Option<&CheckoutOwner>) -> Result<Arc<TaskWorkspace>, TaskWorkspaceError> {
        match checkout {
            None => Ok(Arc::clone(&self.shared)),
            Some(owner) => match self.checkout(owner.task) {
                Some(checkout) => Ok(Arc::clone(&checkout.workspace)),
                None => Err(TaskWorkspaceError::Missing(Arc::clone(&owner.name))),
            },
        }
    }
}
