//! The open list, and which version of each item an agent has seen.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::Home;
use protocol::{ItemId, ListItem, ListName, SessionId, TaskId};
use store::{ChangedItems, ItemList, ItemQuery, ListError, StoreError};
use tokio::sync::Notify;

use crate::settings::SessionSettings;

/// How often a waiting call looks for what other processes did.
const LOOK: Duration = Duration::from_millis(200);

/// The list that the agents of a session share.
pub(crate) struct SharedList {
    pub(crate) name: ListName,
    home: Home,
    session: SessionId,
    /// The project's topmost folder.
    top: String,
    /// Opened when it is first needed.
    open: Mutex<Option<ItemList>>,
    /// The version of each item that an agent was last told of.
    seen_versions: Mutex<HashMap<TaskId, BTreeMap<ItemId, u64>>>,
    /// Told of every change that this process makes.
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
            top: settings.policy.top.display().to_string(),
            open: Mutex::default(),
            seen_versions: Mutex::default(),
            change_notify: Notify::new(),
        }
    }

    /// Does something with the list, on a thread that may wait for others.
    pub(super) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&ItemList) -> Result<T, ListError> + Send + 'static,
    ) -> Result<T, SharedListError> {
        let shared = Arc::clone(self);
        let acted = tokio::task::spawn_blocking(move || {
            let mut open = shared.open.lock().unwrap_or_else(PoisonError::into_inner);
            let list = match open.take() {
                Some(list) => list,
                None => shared.open()?,
            };
            let done = act(&list);
            // One that failed is not asked again.
            if !matches!(done, Err(ListError::Store(_))) {
                *open = Some(list);
            }
            done
        });
        Ok(acted.await??)
    }

    /// Every item; none that cannot be read.
    pub(crate) async fn items(self: &Arc<Self>) -> Vec<ListItem> {
        self.with(|list| list.items(&ItemQuery::default())).await.unwrap_or_else(|trouble| {
            tracing::info!(%trouble, "the list is not looked at");
            Vec::new()
        })
    }

    fn open(&self) -> Result<ItemList, StoreError> {
        match &self.name {
            ListName::Session => ItemList::of_session(&self.home, self.session),
            ListName::Project => ItemList::of_project(&self.home, &self.top),
            ListName::Team(name) => ItemList::of_team(&self.home, name),
        }
    }

    /// The version of an item that an agent was last told of.
    pub(super) fn seen_version(&self, agent: TaskId, id: ItemId) -> Option<u64> {
        self.seen_versions.lock().unwrap_or_else(PoisonError::into_inner).get(&agent)?.get(&id).copied()
    }

    /// An agent is told of an item.
    pub(super) fn mark_seen(&self, agent: TaskId, item: &ListItem) {
        let mut seen = self.seen_versions.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(agent).or_default().insert(item.id, item.version);
    }

    /// An agent has changed items. Of those that were changed with the one it meant, it knows what it knew before.
    pub(super) fn record_change(&self, agent: TaskId, changed: &ChangedItems) {
        self.mark_seen(agent, &changed.item);
        for other in &changed.others {
            if self.seen_version(agent, other.id).is_some_and(|seen| seen + 1 == other.version) {
                self.mark_seen(agent, other);
            }
        }
        self.change_notify.notify_waiters();
    }

    /// Returns when somebody here has changed the list, or after a while.
    pub(super) async fn changed_or_timeout(&self) {
        // Too late is as good: the caller looks again.
        let _late = tokio::time::timeout(LOOK, self.change_notify.notified()).await;
    }
}

/// Why something could not be done with a list.
#[derive(Debug, thiserror::Error)]
pub(super) enum SharedListError {
    #[error(transparent)]
    List(#[from] ListError),
    #[error(transparent)]
    Thread(#[from] tokio::task::JoinError),
}
