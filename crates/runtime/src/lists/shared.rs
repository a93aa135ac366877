//! The open list, and which version of each item an agent has seen.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::Home;
use protocol::{Item, ItemId, ListName, SessionId, TaskId};
use store::{Changed, ItemsWanted, List, ListError, StoreError};
use tokio::sync::Notify;

use crate::settings::Settings;

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
    open: Mutex<Option<List>>,
    /// The version of each item that an agent was last told of.
    seen: Mutex<HashMap<TaskId, BTreeMap<ItemId, u64>>>,
    /// Told of every change that this process makes.
    news: Notify,
}

impl fmt::Debug for SharedList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedList").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SharedList {
    pub(crate) fn new(settings: &Settings, session: SessionId) -> SharedList {
        SharedList {
            name: settings.list.clone(),
            home: settings.home.clone(),
            session,
            top: settings.policy.top.display().to_string(),
            open: Mutex::default(),
            seen: Mutex::default(),
            news: Notify::new(),
        }
    }

    /// Does something with the list, on a thread that may wait for others.
    pub(super) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&List) -> Result<T, ListError> + Send + 'static,
    ) -> Result<T, Trouble> {
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
    pub(crate) async fn items(self: &Arc<Self>) -> Vec<Item> {
        self.with(|list| list.items(&ItemsWanted::default())).await.unwrap_or_else(|trouble| {
            tracing::info!(%trouble, "the list is not looked at");
            Vec::new()
        })
    }

    fn open(&self) -> Result<List, StoreError> {
        match &self.name {
            ListName::Session => List::of_session(&self.home, self.session),
            ListName::Project => List::of_project(&self.home, &self.top),
            ListName::Team(name) => List::of_team(&self.home, name),
        }
    }

    /// The version of an item that an agent was last told of.
    pub(super) fn seen(&self, agent: TaskId, id: ItemId) -> Option<u64> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&agent)?.get(&id).copied()
    }

    /// An agent is told of an item.
    pub(super) fn note(&self, agent: TaskId, item: &Item) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(agent).or_default().insert(item.id, item.version);
    }

    /// An agent has changed items. Of those that were changed with the one it meant, it knows what it knew before.
    pub(super) fn wrote(&self, agent: TaskId, changed: &Changed) {
        self.note(agent, &changed.item);
        for other in &changed.others {
            if self.seen(agent, other.id).is_some_and(|seen| seen + 1 == other.version) {
                self.note(agent, other);
            }
        }
        self.news.notify_waiters();
    }

    /// Returns when somebody here has changed the list, or after a while.
    pub(super) async fn stirs(&self) {
        // Too late is as good: the caller looks again.
        let _late = tokio::time::timeout(LOOK, self.news.notified()).await;
    }
}

/// Why something could not be done with a list.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    List(#[from] ListError),
    #[error(transparent)]
    Thread(#[from] tokio::task::JoinError),
}
