//! The shared list of a session, and which version of each item an agent has seen.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::Home;
use protocol::{ItemId, ListItem, ListName, SessionId, TaskId};
use store::{ChangedItems, ItemList, ItemQuery, ListError, StoreError};
use tokio::sync::Notify;

use crate::settings::SessionSettings;

/// How often a waiting call checks for changes by other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The list that the agents of a session share.
pub(crate) struct SharedList {
    pub(crate) name: ListName,
    home: Home,
    session: SessionId,
    /// The project's topmost folder.
    project_dir: String,
    /// Opened when it is first needed.
    open: Mutex<Option<ItemList>>,
    /// The version of each item that an agent last saw.
    seen_versions: Mutex<HashMap<TaskId, BTreeMap<ItemId, u64>>>,
    /// Notified of every change by this process.
    change_notify: Notify,
}

impl fmt::Debug for SharedList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedList").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SharedList {
    pub(crate) fn new(settings: &SessionSettings, session: SessionId) -> SharedList {
        SharedList {
            name: settings.list.clone(),
            home: settings.home.clone(),
            session,
            project_dir: settings.policy.project_dir.display().to_string(),
            open: Mutex::default(),
            seen_versions: Mutex::default(),
            change_notify: Notify::new(),
        }
    }

    /// Runs an operation on the list, on a blocking thread: it may wait for other processes.
    pub(super) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        operation: impl FnOnce(&ItemList) -> Result<T, ListError> + Send + 'static,
    ) -> Result<T, SharedListError> {
        let shared = Arc::clone(self);
        let result = tokio::task::spawn_blocking(move || {
            let mut open = shared.open.lock().unwrap_or_else(PoisonError::into_inner);
            let list = match open.take() {
                Some(list) => list,
                None => shared.open()?,
            };
            let outcome = operation(&list);
            // After a store error, the list is opened again.
            if !matches!(outcome, Err(ListError::Store(_))) {
                *open = Some(list);
            }
            outcome
        });
        Ok(result.await??)
    }

    /// All items; empty if the list cannot be read.
    pub(crate) async fn items(self: &Arc<Self>) -> Vec<ListItem> {
        self.with(|list| list.items(&ItemQuery::default())).await.unwrap_or_else(|error| {
            tracing::info!(%error, "cannot read the shared list");
            Vec::new()
        })
    }

    fn open(&self) -> Result<ItemList, StoreError> {
        match &self.name {
            ListName::Session => ItemList::of_session(&self.home, self.session),
            ListName::Project => ItemList::of_project(&self.home, &self.project_dir),
            ListName::Team(name) => ItemList::of_team(&self.home, name),
        }
    }

    /// The version of an item that an agent last saw.
    pub(super) fn seen_version(&self, agent: TaskId, id: ItemId) -> Option<u64> {
        self.seen_versions.lock().unwrap_or_else(PoisonError::into_inner).get(&agent)?.get(&id).copied()
    }

    /// Records that an agent has seen an item.
    pub(super) fn mark_seen(&self, agent: TaskId, item: &ListItem) {
        let mut seen = self.seen_versions.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(agent).or_default().insert(item.id, item.version);
    }

    /// Records an agent's change. The other items that changed with it count as seen if their previous version was.
    pub(super) fn record_change(&self, agent: TaskId, changed: &ChangedItems) {
        self.mark_seen(agent, &changed.item);
        for other in &changed.others {
            if self.seen_version(agent, other.id).is_some_and(|seen| seen + 1 == other.version) {
                self.mark_seen(agent, other);
            }
        }
        self.change_notify.notify_waiters();
    }

    /// Returns when this process has changed the list, or after a while.
    pub(super) async fn changed_or_timeout(&self) {
        // A timeout is fine: the caller checks again.
        let _late = tokio::time::timeout(POLL_INTERVAL, self.change_notify.notified()).await;
    }
}

/// Why an operation on a list failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SharedListError {
    #[error(transparent)]
    List(#[from] ListError),
    #[error(transparent)]
    Thread(#[from] tokio::task::JoinError),
}
