//! The clients of one session. What the session wants of its program goes to whoever of them can do it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host::{Ids, TimeIds};
use protocol::{CallId, TaskId};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use uuid::Uuid;

use super::peer::Peer;

/// What a client said it can do for a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Abilities {
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
pub(crate) struct Member {
    pub(crate) peer: Arc<Peer>,
    pub(crate) abilities: Abilities,
    asides: mpsc::Sender<Aside>,
    /// Says that it must look at what waits for a client: it was late for an aside, or another client has left.
    looks: Notify,
}

/// Something that clients are told besides what the log says.
#[derive(Debug, Clone)]
pub(crate) struct Aside {
    pub(crate) id: Uuid,
    /// The event's type.
    pub(crate) kind: &'static str,
    /// What it says.
    pub(crate) content: Value,
    /// The call that must be told of first.
    pub(crate) after: Option<(TaskId, CallId)>,
}

impl Aside {
    pub(crate) fn new(kind: &'static str, content: Value) -> Aside {
        Aside { id: TimeIds.uuid(), kind, content, after: None }
    }
}

/// How many asides wait for a client that is late; it misses the rest.
const HELD: usize = 256;

impl Member {
    pub(crate) fn new(peer: Arc<Peer>, abilities: Abilities) -> (Arc<Member>, mpsc::Receiver<Aside>) {
        let (asides, receiver) = mpsc::channel(HELD);
        (Arc::new(Member { peer, abilities, asides, looks: Notify::new() }), receiver)
    }

    /// Ends when the client must look at what waits, however long ago that was said.
    pub(crate) async fn must_look(&self) {
        self.looks.notified().await;
    }
}

/// The clients of one session.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    members: Mutex<Vec<Arc<Member>>>,
    /// Whether the session has had a client with hooks since one came who wants none.
    is_guarded: AtomicBool,
}

impl Audience {
    pub(crate) fn join(&self, member: Arc<Member>) {
        let mut members = self.members();
        members.push(member);
        self.is_guarded.store(members.iter().any(|member| member.abilities.hooks), Ordering::Release);
    }

    /// Whether a client that had hooks has left, and nobody came in its place.
    pub(crate) fn is_forsaken(&self) -> bool {
        self.is_guarded.load(Ordering::Acquire) && self.who(|abilities| abilities.hooks).is_none()
    }

    pub(crate) fn part(&self, member: &Arc<Member>) {
        let mut members = self.members();
        members.retain(|other| !Arc::ptr_eq(other, member));
        // What the others left to this one is theirs now.
        members.iter().for_each(|other| other.looks.notify_one());
    }

    /// Whether nobody is there but this client.
    pub(crate) fn is_only(&self, member: Option<&Arc<Member>>) -> bool {
        self.members().iter().all(|there| member.is_some_and(|member| Arc::ptr_eq(there, member)))
    }

    /// The client that came last of those that can do something.
    pub(crate) fn who(&self, can: impl Fn(&Abilities) -> bool) -> Option<Arc<Member>> {
        self.members().iter().rev().find(|member| can(&member.abilities)).cloned()
    }

    /// Tells every client something that the log does not say. Nobody waits for a client that does not read.
    pub(crate) fn tell(&self, aside: &Aside) {
        for member in self.members().iter() {
            if let Err(mpsc::error::TrySendError::Full(_)) = member.asides.try_send(aside.clone()) {
                member.looks.notify_one();
            }
        }
    }

    fn members(&self) -> MutexGuard<'_, Vec<Arc<Member>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
