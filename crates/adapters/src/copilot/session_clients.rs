//! The clients of one session. What the session wants of its program goes to whoever of them can do it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host::{Ids, TimeIds};
use protocol::{CallId, TaskId};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use uuid::Uuid;

use super::peer::ClientPeer;

/// What a client said it can do for a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientCapabilities {
    /// It answers the model's questions.
    pub(crate) user_input: bool,
    /// It decides on plans.
    pub(crate) exit_plan: bool,
    /// It has hooks.
    pub(crate) hooks: bool,
    /// It wants text as it comes.
    pub(crate) streaming: bool,
}

/// One client of a session.
#[derive(Debug)]
pub(crate) struct SessionClient {
    pub(crate) peer: Arc<ClientPeer>,
    pub(crate) capabilities: ClientCapabilities,
    events: mpsc::Sender<EphemeralEvent>,
    /// Says that it must look at what waits for a client: it was late for an aside, or another client has left.
    recheck: Notify,
}

/// Something that clients are told besides what the log says.
#[derive(Debug, Clone)]
pub(crate) struct EphemeralEvent {
    pub(crate) id: Uuid,
    /// The event's type.
    pub(crate) kind: &'static str,
    /// What it says.
    pub(crate) content: Value,
    /// The call that must be told of first.
    pub(crate) after: Option<(TaskId, CallId)>,
}

impl EphemeralEvent {
    pub(crate) fn new(kind: &'static str, content: Value) -> EphemeralEvent {
        EphemeralEvent { id: TimeIds.uuid(), kind, content, after: None }
    }
}

/// How many asides wait for a client that is late; it misses the rest.
const HELD: usize = 256;

impl SessionClient {
    pub(crate) fn new(
        peer: Arc<ClientPeer>,
        abilities: ClientCapabilities,
    ) -> (Arc<SessionClient>, mpsc::Receiver<EphemeralEvent>) {
        let (asides, receiver) = mpsc::channel(HELD);
        (Arc::new(SessionClient { peer, capabilities: abilities, events: asides, recheck: Notify::new() }), receiver)
    }

    /// Ends when the client must look at what waits, however long ago that was said.
    pub(crate) async fn recheck_requested(&self) {
        self.recheck.notified().await;
    }
}

/// The clients of one session.
#[derive(Debug, Default)]
pub(crate) struct SessionClients {
    members: Mutex<Vec<Arc<SessionClient>>>,
    /// Whether the session has had a client with hooks since one came who wants none.
    had_hooks: AtomicBool,
}

impl SessionClients {
    pub(crate) fn add(&self, member: Arc<SessionClient>) {
        let mut members = self.members();
        members.push(member);
        self.had_hooks.store(members.iter().any(|member| member.capabilities.hooks), Ordering::Release);
    }

    /// Whether a client that had hooks has left, and nobody came in its place.
    pub(crate) fn has_lost_hooks(&self) -> bool {
        self.had_hooks.load(Ordering::Acquire) && self.newest_with(|abilities| abilities.hooks).is_none()
    }

    pub(crate) fn remove(&self, member: &Arc<SessionClient>) {
        let mut members = self.members();
        members.retain(|other| !Arc::ptr_eq(other, member));
        // What the others left to this one is theirs now.
        members.iter().for_each(|other| other.recheck.notify_one());
    }

    /// Whether nobody is there but this client.
    pub(crate) fn is_only(&self, member: Option<&Arc<SessionClient>>) -> bool {
        self.members().iter().all(|there| member.is_some_and(|member| Arc::ptr_eq(there, member)))
    }

    /// The client that came last of those that can do something.
    pub(crate) fn newest_with(&self, can: impl Fn(&ClientCapabilities) -> bool) -> Option<Arc<SessionClient>> {
        self.members().iter().rev().find(|member| can(&member.capabilities)).cloned()
    }

    /// Tells every client something that the log does not say. Nobody waits for a client that does not read.
    pub(crate) fn broadcast(&self, aside: &EphemeralEvent) {
        for member in self.members().iter() {
            if let Err(mpsc::error::TrySendError::Full(_)) = member.events.try_send(aside.clone()) {
                member.recheck.notify_one();
            }
        }
    }

    fn members(&self) -> MutexGuard<'_, Vec<Arc<SessionClient>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
