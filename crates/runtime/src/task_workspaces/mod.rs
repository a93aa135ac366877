//! Where tasks work: in the folder of the session, or in a checkout of their own. A task below one that has a checkout
//! works there too. Whoever is to have a checkout and has none does not work at all.

mod placement;
mod task_checkout;
mod task_workspace;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::Home;
use protocol::TaskId;
use tokio::task::JoinSet;

pub(crate) use placement::ensure_workspace;
pub(crate) use task_checkout::TaskCheckout;
pub(crate) use task_workspace::TaskWorkspace;

use crate::agent::SessionContext;

/// How long nothing is removed after the first checkout was made, and after each removal. More are being made, and file
/// systems are slow to make files while others are removed.
const BETWEEN: Duration = Duration::from_secs(20);

/// The sites of a session's tasks.
#[derive(Debug)]
pub(crate) struct TaskWorkspaces {
    shared: Arc<TaskWorkspace>,
    checkouts: Mutex<HashMap<TaskId, Arc<TaskCheckout>>>,
    /// Held while a checkout that was made before is opened, so that it is opened once.
    opening: tokio::sync::Mutex<()>,
    /// The removal of checkouts that nobody needs, while tasks work.
    removing: Mutex<JoinSet<()>>,
}

impl TaskWorkspaces {
    pub(crate) fn new(shared: TaskWorkspace) -> TaskWorkspaces {
        let (own, opening) = (Mutex::default(), tokio::sync::Mutex::default());
        TaskWorkspaces { shared: Arc::new(shared), checkouts: own, opening, removing: Mutex::default() }
    }

    /// Finishes, while tasks work, the removal of checkouts: of this process, and of those that ended before they came to it.
    pub(crate) fn finish_removals(&self, home: &Home) {
        let mut removing = self.removing.lock().unwrap_or_else(PoisonError::into_inner);
        if removing.is_empty() {
            let home = home.clone();
            removing.spawn(async move {
                loop {
                    tokio::time::sleep(BETWEEN).await;
                    let home = home.clone();
                    let _removed = tokio::task::spawn_blocking(move || git::finish_removals(&home)).await;
                }
            });
        }
    }

    /// The checkout that a task itself has.
    pub(crate) fn checkout(&self, task: TaskId) -> Option<Arc<TaskCheckout>> {
        self.checkouts.lock().unwrap_or_else(PoisonError::into_inner).get(&task).cloned()
    }

    /// Takes a checkout from a task that has ended. Nobody claims it any more once what this gives is dropped.
    pub(crate) fn take_checkout(&self, task: TaskId) -> Option<Arc<TaskCheckout>> {
        self.checkouts.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }

    fn insert(&self, task: TaskId, own: TaskCheckout) {
        self.checkouts.lock().unwrap_or_else(PoisonError::into_inner).insert(task, Arc::new(own));
    }
}

impl SessionContext {
    /// Where a task works; says in words why it cannot.
    pub(crate) fn task_workspace(&self, task: TaskId) -> Result<Arc<TaskWorkspace>, String> {
        match self.roster.checkout_owner(task) {
            None => Ok(Arc::clone(&self.task_workspaces.shared)),
            Some(holder) => match self.task_workspaces.checkout(holder) {
                Some(own) => Ok(Arc::clone(&own.workspace)),
                None => Err(format!("the checkout of {} is not there", self.roster.path(holder))),
            },
        }
    }
}
