//! A session that this server holds for its clients: one that runs in this process, or one that another process runs
//! and that is reached through its socket.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use host::Home;
use protocol::SessionId;
use protocol::api::Method;
use rpc::{CallError, ErrorObject, InProcessConnector, Notifications, RpcClient};
use runtime::{Session, SessionStatus};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

use super::client_commands::ClientCommands;
use super::client_tasks::ClientTasks;
use super::client_tools::PendingToolCalls;
use super::session_clients::{EphemeralEvent, SessionClients};
use super::session_names;

/// A session that this server holds for its clients.
#[derive(Debug)]
pub(crate) struct HostedSession {
    id: SessionId,
    called: String,
    home: Home,
    location: SessionLocation,
    /// For calls. Whoever watches has a link of its own, so that answers never wait behind events.
    client: RpcClient,
    pub(crate) clients: Arc<SessionClients>,
    pub(crate) tool_calls: Arc<PendingToolCalls>,
    pub(crate) client_tasks: ClientTasks,
    pub(crate) commands: ClientCommands,
    /// Whether every call that needs permission is allowed, as a client wished.
    pub(crate) approves_all: AtomicBool,
    /// Whether a policy forbids that.
    needs_approval: AtomicBool,
    /// What its clients call their agents, by the agents' names.
    titles: Mutex<HashMap<String, String>>,
    /// Whether an earlier process left something undone that nobody has taken up.
    has_unfinished_work: AtomicBool,
    /// The tools that the client it was opened for brought along.
    tools: Mutex<HashSet<String>>,
    /// What its clients are told with the next message that one of them sends.
    notices: Mutex<Vec<ClientNotice>>,
    /// Its title, if a client gave it one.
    pub(crate) name: Mutex<Option<String>>,
}

/// What a client should know of how its wishes were met.
#[derive(Debug)]
pub(crate) struct ClientNotice {
    /// What kind of wish it was.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

impl ClientNotice {
    /// A wish that is not met.
    pub(crate) fn unsupported(message: String) -> ClientNotice {
        ClientNotice { kind: "unsupported", message }
    }
}

#[derive(Debug)]
enum SessionLocation {
    /// This process runs it, until it is left.
    Local(Box<LocalHostedSession>),
    /// Another process does.
    Remote(PathBuf),
}

#[derive(Debug)]
struct LocalHostedSession {
    session: tokio::sync::Mutex<Option<Session>>,
    connector: InProcessConnector,
    status: watch::Receiver<SessionStatus>,
}

impl HostedSession {
    /// Holds a session that runs in this process.
    pub(crate) async fn local(
        session: Session,
        audience: Arc<SessionClients>,
        bench: Arc<PendingToolCalls>,
    ) -> Result<HostedSession, ErrorObject> {
        let (client, _unheard) = session.connect().await.map_err(ErrorObject::internal)?;
        let (id, home, status) = (session.id(), session.home().clone(), session.status());
        let inside = session.inside();
        let here = LocalHostedSession { session: tokio::sync::Mutex::new(Some(session)), connector: inside, status };
        let place = SessionLocation::Local(Box::new(here));
        Ok(HostedSession::new(id, home, place, client, audience, bench))
    }

    /// Holds a session that another process runs; none if nobody does.
    pub(crate) async fn remote(home: &Home, id: SessionId) -> Option<HostedSession> {
        let socket = home.socket(id);
        let (client, _unheard) = RpcClient::connect(&socket).await.ok()?;
        let audience = Arc::<SessionClients>::default();
        let bench = Arc::new(PendingToolCalls::new(Arc::clone(&audience)));
        Some(HostedSession::new(id, home.clone(), SessionLocation::Remote(socket), client, audience, bench))
    }

    fn new(
        id: SessionId,
        home: Home,
        place: SessionLocation,
        client: RpcClient,
        audience: Arc<SessionClients>,
        bench: Arc<PendingToolCalls>,
    ) -> HostedSession {
        HostedSession {
            id,
            called: session_names::session_name(&home, id),
            home,
            location: place,
            client,
            clients: audience,
            tool_calls: bench,
            client_tasks: ClientTasks::default(),
            commands: ClientCommands::default(),
            approves_all: AtomicBool::new(false),
            needs_approval: AtomicBool::new(false),
            titles: Mutex::default(),
            has_unfinished_work: AtomicBool::new(false),
            tools: Mutex::default(),
            notices: Mutex::default(),
            name: Mutex::default(),
        }
    }

    pub(crate) fn id(&self) -> SessionId {
        self.id
    }

    /// What its clients call it in their messages: its UUID, or the word that one of them gave it.
    pub(crate) fn called(&self) -> &str {
        &self.called
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Calls the session's API.
    pub(crate) async fn call<R: DeserializeOwned>(
        &self,
        method: Method,
        params: impl Serialize,
    ) -> Result<R, ErrorObject> {
        self.client.call(method, params).await.map_err(to_error_object)
    }

    /// Tells every client of the session an event that is not kept.
    pub(crate) fn emit(&self, kind: &'static str, content: Value) -> Uuid {
        let aside = EphemeralEvent::new(kind, content);
        self.clients.broadcast(&aside);
        aside.id
    }

    /// Keeps what clients are told with the next message.
    pub(crate) fn add_notices(&self, notices: impl IntoIterator<Item = ClientNotice>) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
    }

    /// Tells what was kept for the next message.
    pub(crate) fn send_notices(&self) {
        let notices = std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        for ClientNotice { kind: about, message } in notices {
            self.emit("session.warning", json!({ "warningType": about, "message": message }));
        }
    }

    /// One more client of its API, for whoever watches it.
    pub(crate) async fn connect(&self) -> Result<(RpcClient, Notifications), ErrorObject> {
        match &self.location {
            SessionLocation::Local(here) => here.connector.connect().await.map_err(ErrorObject::internal),
            SessionLocation::Remote(socket) => RpcClient::connect(socket).await.map_err(ErrorObject::internal),
        }
    }

    /// Keeps which tools its client brought along.
    pub(crate) fn add_tools<'a>(&self, tools: impl Iterator<Item = &'a str>) {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).extend(tools.map(str::to_owned));
    }

    /// Whether it has such a tool of a client's.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// Keeps what a client calls its agents.
    pub(crate) fn add_titles(&self, titles: impl IntoIterator<Item = (String, String)>) {
        self.titles.lock().unwrap_or_else(PoisonError::into_inner).extend(titles);
    }

    /// What a client calls an agent, if it calls it something else.
    pub(crate) fn agent_title(&self, agent: &str) -> Option<String> {
        self.titles.lock().unwrap_or_else(PoisonError::into_inner).get(agent).cloned()
    }

    /// Allows every call that needs permission from now on, or none without a word.
    pub(crate) fn approve_all(&self, approves: bool) {
        let may = !self.needs_approval.load(Ordering::Acquire);
        self.approves_all.store(approves && may, Ordering::Release);
    }

    /// Lets nobody allow every call from now on.
    pub(crate) fn forbid_approving_all(&self) {
        self.needs_approval.store(true, Ordering::Release);
    }

    /// Whether this process runs it and something is under way.
    pub(crate) fn is_busy(&self) -> bool {
        match &self.location {
            SessionLocation::Local(here) => !is_at_rest(&here.status.borrow()),
            SessionLocation::Remote(_) => false,
        }
    }

    /// Whether whoever runs it still does.
    pub(crate) async fn is_alive(&self) -> bool {
        self.call::<Value>(Method::SessionGet, Value::Null).await.is_ok()
    }

    /// Waits until nothing is under way.
    pub(crate) async fn wait_until_quiet(&self) {
        if let SessionLocation::Local(here) = &self.location {
            // Without a supervisor nothing is under way.
            here.status.clone().wait_for(is_at_rest).await.ok();
        }
    }

    /// Leaves what an earlier process did not finish until somebody has work for the session.
    pub(crate) fn defer_unfinished(&self) {
        self.has_unfinished_work.store(true, Ordering::Release);
    }

    /// Takes up what an earlier process did not finish: the turn that its own agent was in is over, since a client
    /// wants something else, and the agents in the background go on.
    pub(crate) async fn resume_unfinished(&self) -> Result<(), ErrorObject> {
        if !self.has_unfinished_work.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let _over: Value = self.call(Method::SessionInterrupt, json!({})).await?;
        self.resume().await
    }

    /// Lets everything go on that was interrupted.
    pub(crate) async fn resume(&self) -> Result<(), ErrorObject> {
        let SessionLocation::Local(here) = &self.location else { return Ok(()) };
        match &*here.session.lock().await {
            Some(session) => session.resume().await.map_err(ErrorObject::internal),
            None => Ok(()),
        }
    }

    /// Ends this process's part: what runs can be gone on with by whoever resumes the session.
    pub(crate) async fn leave(&self) {
        let SessionLocation::Local(here) = &self.location else { return };
        if let Some(session) = here.session.lock().await.take()
            && let Err(error) = session.leave().await
        {
            tracing::warn!(%error, "a session was not left well");
        }
    }
}

fn is_at_rest(status: &SessionStatus) -> bool {
    (status.quiet && !status.continuation_due) || status.paused.is_some()
}

fn to_error_object(error: CallError) -> ErrorObject {
    match error {
        CallError::Refused(error) => error,
        error @ (CallError::Closed(_) | CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
            ErrorObject::internal(error)
        }
    }
}
