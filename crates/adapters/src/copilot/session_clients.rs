//! The clients of one session. Requests of the session go to a client with the required capability.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use host::{Ids, TimeIds};
use protocol::{CallId, TaskId};
use runtime::JoinedTools;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tools::Tool;
use uuid::Uuid;

use super::events::CopilotEvent;
use super::peer::ClientPeer;

/// What a client declared that it can do for a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientCapabilities {
    /// It answers the model's questions.
    pub(crate) user_input: bool,
    /// It decides on plans.
    pub(crate) exit_plan: bool,
    /// It has hooks.
    pub(crate) hooks: bool,
    /// It shows forms to a person.
    pub(crate) forms: bool,
    /// It wants streamed text.
    pub(crate) streaming: bool,
    /// It rewrites sections of the system message.
    pub(crate) transforms_system_message: bool,
}

/// One client of a session.
#[derive(Debug)]
pub(crate) struct SessionClient {
    pub(crate) peer: Arc<ClientPeer>,
    pub(crate) capabilities: ClientCapabilities,
    events: mpsc::Sender<EphemeralEvent>,
    /// The tools that it brought to a running session, and where agents find them.
    tools: OnceLock<(JoinedTools, Vec<Arc<dyn Tool>>)>,
    /// Notified when the client must check for pending requests: it missed an ephemeral event, or another client left.
    recheck: Notify,
}

/// An event that is sent to clients but is not in the log.
#[derive(Debug, Clone)]
pub(crate) struct EphemeralEvent {
    pub(crate) id: Uuid,
    /// The event's type.
    pub(crate) kind: &'static str,
    /// The event's data.
    pub(crate) content: Value,
    /// The call that must be announced first.
    pub(crate) after: Option<(TaskId, CallId)>,
    /// Whether it is stored with the session, and so part of its history.
    pub(crate) is_stored: bool,
}

impl EphemeralEvent {
    pub(crate) fn new(kind: &'static str, content: Value) -> EphemeralEvent {
        EphemeralEvent { id: TimeIds.uuid(), kind, content, after: None, is_stored: false }
    }

    /// An event that is stored with the session.
    pub(crate) fn stored(kind: &'static str, content: Value) -> EphemeralEvent {
        EphemeralEvent { is_stored: true, ..EphemeralEvent::new(kind, content) }
    }

    /// The event in the SDK's format, without its parent.
    pub(crate) fn to_copilot(&self) -> CopilotEvent {
        let event = CopilotEvent::transient(self.kind, self.content.clone());
        CopilotEvent { ephemeral: !self.is_stored, ..event }
    }
}

/// How many ephemeral events are buffered for a slow client; it misses further ones.
const EVENT_BUFFER: usize = 256;

impl SessionClient {
    pub(crate) fn new(
        peer: Arc<ClientPeer>,
        capabilities: ClientCapabilities,
    ) -> (Arc<SessionClient>, mpsc::Receiver<EphemeralEvent>) {
        let (events, receiver) = mpsc::channel(EVENT_BUFFER);
        (
            Arc::new(SessionClient { peer, capabilities, events, tools: OnceLock::new(), recheck: Notify::new() }),
            receiver,
        )
    }

    /// Gives the agents of a running session this client's tools, until it leaves.
    pub(crate) fn join_tools(&self, joined: &JoinedTools, tools: Vec<Arc<dyn Tool>>) {
        joined.add(tools.iter().cloned());
        // A client joins once.
        let _joined_before = self.tools.set((joined.clone(), tools));
    }

    /// Waits until the client must check for pending requests; earlier notifications count.
    pub(crate) async fn recheck_requested(&self) {
        self.recheck.notified().await;
    }
}

/// The clients of one session.
#[derive(Debug, Default)]
pub(crate) struct SessionClients {
    members: Mutex<Vec<Arc<SessionClient>>>,
    /// Whether a client with hooks was connected when the last client joined.
    had_hooks: AtomicBool,
}

impl SessionClients {
    pub(crate) fn add(&self, member: Arc<SessionClient>) {
        let mut members = self.members();
        let could_show_forms = can_show_forms(&members);
        // The new client reads what the session can do in the answer to its call.
        let earlier = members.clone();
        members.push(member);
        self.had_hooks.store(members.iter().any(|member| member.capabilities.hooks), Ordering::Release);
        if can_show_forms(&members) != could_show_forms {
            send_to_each(&earlier, &forms_changed(!could_show_forms));
        }
    }

    /// Whether a client can show a form to a person.
    pub(crate) fn can_show_forms(&self) -> bool {
        can_show_forms(&self.members())
    }

    /// Whether the client with hooks has left, and no other client has joined since.
    pub(crate) fn has_lost_hooks(&self) -> bool {
        self.had_hooks.load(Ordering::Acquire) && self.newest_with(|capabilities| capabilities.hooks).is_none()
    }

    pub(crate) fn remove(&self, member: &Arc<SessionClient>) {
        let mut members = self.members();
        let could_show_forms = can_show_forms(&members);
        members.retain(|other| !Arc::ptr_eq(other, member));
        if let Some((joined, tools)) = member.tools.get() {
            joined.remove(tools);
        }
        if can_show_forms(&members) != could_show_forms {
            send_to_each(&members, &forms_changed(!could_show_forms));
        }
        // The remaining clients may have to take over its pending requests.
        members.iter().for_each(|other| other.recheck.notify_one());
    }

    /// Whether there is no client other than `leaving`.
    pub(crate) fn has_no_other_client(&self, leaving: Option<&Arc<SessionClient>>) -> bool {
        self.members().iter().all(|other| leaving.is_some_and(|leaving| Arc::ptr_eq(other, leaving)))
    }

    /// The newest client with a capability.
    pub(crate) fn newest_with(&self, matches: impl Fn(&ClientCapabilities) -> bool) -> Option<Arc<SessionClient>> {
        self.members().iter().rev().find(|member| matches(&member.capabilities)).cloned()
    }

    /// Sends an event that is not in the log to every client, without waiting for clients that do not read.
    pub(crate) fn broadcast(&self, event: &EphemeralEvent) {
        send_to_each(&self.members(), event);
    }

    fn members(&self) -> MutexGuard<'_, Vec<Arc<SessionClient>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn can_show_forms(members: &[Arc<SessionClient>]) -> bool {
    members.iter().any(|member| member.capabilities.forms)
}

/// The event that tells clients whether the session can show forms.
fn forms_changed(can_show: bool) -> EphemeralEvent {
    EphemeralEvent::new("capabilities.changed", json!({ "ui": { "elicitation": can_show } }))
}

/// Sends an event without waiting for clients that do not read.
fn send_to_each(members: &[Arc<SessionClient>], event: &EphemeralEvent) {
    for member in members {
        if let Err(mpsc::error::TrySendError::Full(_)) = member.events.try_send(event.clone()) {
            member.recheck.notify_one();
        }
    }
}
