//! What the clients of a session share. The session host of this process holds it, or another process, which is
//! reached through its socket.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use client::SessionHandle;
use host::{Clock, Home, SystemClock};
use model::TurnHeaders;
use net::Secret;
use protocol::api::{Method, SessionView};
use protocol::{McpServerSpec, SessionId};
use rpc::{CallError, ErrorObject, Notifications, RpcClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use server::{HeldSession, KeepMode};
use uuid::Uuid;

use super::client_commands::ClientCommands;
use super::client_events::ClientEvents;
use super::client_features::ClientFeatures;
use super::client_tasks::ClientTasks;
use super::client_tools::PendingToolCalls;
use super::methods::provider::ClientProviders;
use super::option_table::OpenedOptions;
use super::session_changes::SessionChanges;
use super::session_clients::{EphemeralEvent, SessionClients};
use super::session_names;
use super::state_copy::StateCopy;

/// What the clients of a session share.
#[derive(Debug)]
pub(crate) struct HostedSession {
    handle: SessionHandle,
    name_for_clients: String,
    /// The session, if this process runs it.
    held: Option<HeldSession>,
    /// The connection for calls. Watchers have their own connections, so that answers never wait behind events.
    api: RpcClient,
    pub(crate) clients: Arc<SessionClients>,
    pub(crate) tool_calls: Arc<PendingToolCalls>,
    pub(crate) client_tasks: ClientTasks,
    pub(crate) commands: ClientCommands,
    pub(crate) client_events: ClientEvents,
    /// Held while a message with attachments is sent, so that its event is not sent before they are stored.
    pub(crate) attaching: tokio::sync::RwLock<()>,
    pub(crate) features: ClientFeatures,
    /// Whether a client has allowed every call that needs permission.
    pub(crate) approves_all: AtomicBool,
    /// Whether a policy forbids allowing every call.
    forbids_approving_all: AtomicBool,
    /// The agents that clients define, in their order, with display names.
    client_agents: Mutex<Vec<ClientAgentName>>,
    /// Whether a previous process left unfinished work that has not been resumed.
    has_unfinished_work: AtomicBool,
    /// Tools defined by the client that opened the session.
    tools: Mutex<HashSet<String>>,
    /// Notices to send to all clients when one of them sends its next message.
    notices: Mutex<Vec<ClientNotice>>,
    /// The MCP servers that clients added while the session ran.
    added_servers: Mutex<BTreeMap<String, McpServerSpec>>,
    /// The session's name, if a client has set one.
    name: Mutex<Option<SessionName>>,
    /// The providers of the client that opened the session.
    providers: OnceLock<ClientProviders>,
    /// The options of the client that opened the session.
    opened_options: OnceLock<OpenedOptions>,
    /// The copy of its state that a client keeps.
    state_copy: OnceLock<Arc<StateCopy>>,
    /// Headers of the newest message, if this process sends the requests to models.
    turn_headers: Option<TurnHeaders>,
}

/// An agent that a client defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientAgentName {
    pub(crate) name: String,
    /// Its display name.
    pub(crate) title: Option<String>,
}

/// A session's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionName {
    pub(crate) text: String,
    pub(crate) origin: NameOrigin,
}

/// Where a session's name comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameOrigin {
    /// A user chose it.
    Chosen,
    /// A program generated it.
    Generated,
}

/// A notice to clients about an option that was not applied as requested.
#[derive(Debug)]
pub(crate) struct ClientNotice {
    /// The kind of option.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

impl ClientNotice {
    /// A notice about an unsupported option.
    pub(crate) fn unsupported(message: String) -> ClientNotice {
        ClientNotice { kind: "unsupported", message }
    }
}

impl HostedSession {
    /// A session that runs in this process.
    pub(crate) async fn local(
        held: HeldSession,
        clients: Arc<SessionClients>,
        tool_calls: Arc<PendingToolCalls>,
        turn_headers: TurnHeaders,
    ) -> Result<HostedSession, ErrorObject> {
        let (client, _notifications) = held.handle().connect().await.map_err(ErrorObject::internal)?;
        let handle = held.handle().clone();
        let session = HostedSession::new(handle, Some(held), client, clients, tool_calls);
        Ok(HostedSession { turn_headers: Some(turn_headers), ..session })
    }

    /// Connects to a session that another process runs; `None` if no process does.
    pub(crate) async fn remote(home: &Home, id: SessionId) -> Option<HostedSession> {
        let handle = SessionHandle::new(home, id);
        let (client, _notifications) = handle.connect().await.ok()?;
        let clients = Arc::<SessionClients>::default();
        let tool_calls = Arc::new(PendingToolCalls::new(Arc::clone(&clients)));
        Some(HostedSession::new(handle, None, client, clients, tool_calls))
    }

    fn new(
        handle: SessionHandle,
        held: Option<HeldSession>,
        client: RpcClient,
        clients: Arc<SessionClients>,
        tool_calls: Arc<PendingToolCalls>,
    ) -> HostedSession {
        HostedSession {
            name_for_clients: session_names::session_name(handle.home(), handle.id()),
            client_events: ClientEvents::new(handle.home(), handle.id()),
            attaching: tokio::sync::RwLock::default(),
            handle,
            held,
            api: client,
            clients,
            tool_calls,
            client_tasks: ClientTasks::default(),
            commands: ClientCommands::default(),
            features: ClientFeatures::default(),
            approves_all: AtomicBool::new(false),
            forbids_approving_all: AtomicBool::new(false),
            client_agents: Mutex::default(),
            has_unfinished_work: AtomicBool::new(false),
            tools: Mutex::default(),
            notices: Mutex::default(),
            added_servers: Mutex::default(),
            name: Mutex::default(),
            opened_options: OnceLock::new(),
            providers: OnceLock::new(),
            state_copy: OnceLock::new(),
            turn_headers: None,
        }
    }

    pub(crate) fn id(&self) -> SessionId {
        self.handle.id()
    }

    /// The session, to read its file.
    pub(crate) fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    /// The session's name for clients: its UUID, or the name that a client chose.
    pub(crate) fn name_for_clients(&self) -> &str {
        &self.name_for_clients
    }

    pub(crate) fn home(&self) -> &Home {
        self.handle.home()
    }

    /// Calls the session's API.
    pub(crate) async fn call<R: DeserializeOwned>(
        &self,
        method: Method,
        params: impl Serialize,
    ) -> Result<R, ErrorObject> {
        self.api.call(method, params).await.map_err(to_error_object)
    }

    /// Sends an ephemeral event to every client of the session.
    pub(crate) fn emit(&self, kind: &'static str, content: Value) -> Uuid {
        let event = EphemeralEvent::new(kind, content);
        self.client_events.hold_ephemeral(event.to_copilot().into_json(event.id, None, SystemClock.now()));
        self.clients.broadcast(&event);
        event.id
    }

    /// Sends an event to every client, and adds it to the session's history.
    pub(crate) async fn record(&self, kind: &'static str, content: Value) -> Result<Uuid, ErrorObject> {
        let event = EphemeralEvent::stored(kind, content);
        let view: SessionView = self.call(Method::SessionGet, json!({})).await?;
        let stored = event.to_copilot().into_json(event.id, None, SystemClock.now());
        if let Err(error) = self.client_events.store_event(view.events, stored) {
            tracing::warn!(%error, kind, "an event is sent but not stored");
        }
        self.clients.broadcast(&event);
        Ok(event.id)
    }

    /// Queues notices for the next message.
    pub(crate) fn add_notices(&self, notices: impl IntoIterator<Item = ClientNotice>) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
    }

    /// Sends the queued notices.
    pub(crate) fn send_notices(&self) {
        let notices = std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        for ClientNotice { kind, message } in notices {
            self.emit("session.warning", json!({ "warningType": kind, "message": message }));
        }
    }

    /// Notifies of changes to the session.
    pub(crate) fn changes(&self) -> SessionChanges {
        SessionChanges {
            of_clients: self.client_events.changes(),
            of_session: self.held.as_ref().map(HeldSession::status),
        }
    }

    /// Opens one more connection to the session's API, for a watcher.
    pub(crate) async fn connect(&self) -> Result<(RpcClient, Notifications), ErrorObject> {
        self.handle.connect().await.map_err(ErrorObject::internal)
    }

    /// Records tools that a client defines.
    pub(crate) fn add_tools<'a>(&self, tools: impl Iterator<Item = &'a str>) {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).extend(tools.map(str::to_owned));
    }

    /// Whether this process runs the session.
    pub(crate) fn is_local(&self) -> bool {
        self.held.is_some()
    }

    /// Whether a client has defined this tool.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// Records an MCP server that a client adds; returns all that clients added.
    pub(crate) fn with_added_server(&self, name: &str, server: McpServerSpec) -> BTreeMap<String, McpServerSpec> {
        let mut added = self.added_servers.lock().unwrap_or_else(PoisonError::into_inner);
        added.insert(name.to_owned(), server);
        added.clone()
    }

    /// Records the agents that a client defines.
    pub(crate) fn add_agents(&self, agents: impl IntoIterator<Item = ClientAgentName>) {
        self.client_agents.lock().unwrap_or_else(PoisonError::into_inner).extend(agents);
    }

    /// The client's display name for an agent, if there is one.
    pub(crate) fn agent_title(&self, agent: &str) -> Option<String> {
        let agents = self.client_agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.iter().find(|known| known.name == agent).and_then(|known| known.title.clone())
    }

    /// The place of an agent among those that clients define; agents of other sources come after them.
    pub(crate) fn agent_place(&self, agent: &str) -> usize {
        let agents = self.client_agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.iter().position(|known| known.name == agent).unwrap_or(usize::MAX)
    }

    /// The session's name, if a client has set one.
    pub(crate) fn session_name(&self) -> Option<String> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|name| name.text.clone())
    }

    /// Sets the session's name, unless it is generated and a user has chosen another; returns whether it was set.
    pub(crate) fn set_session_name(&self, name: SessionName) -> bool {
        let mut current = self.name.lock().unwrap_or_else(PoisonError::into_inner);
        let is_chosen = |name: &SessionName| name.origin == NameOrigin::Chosen;
        if name.origin == NameOrigin::Generated && current.as_ref().is_some_and(is_chosen) {
            return false;
        }
        *current = Some(name);
        true
    }

    /// Replaces the headers that requests to models have besides their own.
    pub(crate) fn set_turn_headers(&self, headers: Vec<(String, Secret)>) -> Result<(), ErrorObject> {
        match &self.turn_headers {
            Some(turn_headers) => turn_headers.replace(headers),
            None if headers.is_empty() => {}
            None => {
                let why = "`requestHeaders`: another process runs the session, and sends its requests to models";
                return Err(ErrorObject::internal(why));
            }
        }
        Ok(())
    }

    /// Records the providers of the client that opens the session.
    pub(crate) fn set_providers(&self, providers: ClientProviders) {
        // The session is opened once.
        let _set_before = self.providers.set(providers);
    }

    /// Records the options of the client that opens the session.
    pub(crate) fn set_opened_options(&self, options: OpenedOptions) {
        // The session is opened once.
        let _set_before = self.opened_options.set(options);
    }

    /// The notice about options of a client that joins the session and that cannot apply to it any more.
    pub(crate) fn ignored_when_joining(&self, params: &Value) -> Option<String> {
        self.opened_options.get().map_or_else(
            || OpenedOptions::default().ignored_when_joining(params),
            |opened| opened.ignored_when_joining(params),
        )
    }

    /// The providers of the client that opened the session.
    pub(crate) fn providers(&self) -> Option<&ClientProviders> {
        self.providers.get()
    }

    /// Records the copy of its state that a client keeps.
    pub(crate) fn set_state_copy(&self, copy: StateCopy) {
        // The session is opened once.
        let _set_before = self.state_copy.set(Arc::new(copy));
    }

    /// The copy of its state that a client keeps.
    pub(crate) fn state_copy(&self) -> Option<Arc<StateCopy>> {
        self.state_copy.get().cloned()
    }

    /// Sets whether every call that needs permission is allowed without asking, unless a policy forbids that.
    pub(crate) fn set_approves_all(&self, approves: bool) {
        let is_permitted = !self.forbids_approving_all.load(Ordering::Acquire);
        self.approves_all.store(approves && is_permitted, Ordering::Release);
    }

    /// Prevents clients from allowing every call.
    pub(crate) fn forbid_approving_all(&self) {
        self.forbids_approving_all.store(true, Ordering::Release);
    }

    /// Whether this process runs the session and work is in progress.
    pub(crate) fn is_busy(&self) -> bool {
        self.held.as_ref().is_some_and(|held| !held.status().borrow().phase().is_over())
    }

    /// Waits until no work is in progress.
    pub(crate) async fn wait_until_quiet(&self) {
        if let Some(held) = &self.held {
            // Fails if there is no supervisor any more, and thus no work.
            held.status().wait_for(|status| status.phase().is_over()).await.ok();
        }
    }

    /// Defers the unfinished work of a previous process until a client sends new work.
    pub(crate) fn defer_unfinished(&self) {
        self.has_unfinished_work.store(true, Ordering::Release);
    }

    /// Resumes the unfinished work of a previous process: background agents continue, but the root's turn ends, because
    /// a client has sent something else.
    pub(crate) async fn resume_unfinished(&self) -> Result<(), ErrorObject> {
        if !self.has_unfinished_work.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let _interrupted: Value = self.call(Method::SessionInterrupt, json!({})).await?;
        self.resume().await
    }

    /// Resumes everything that was interrupted.
    pub(crate) async fn resume(&self) -> Result<(), ErrorObject> {
        match &self.held {
            Some(held) => held.resume().await.map_err(ErrorObject::internal),
            None => Ok(()),
        }
    }

    /// Closes the session, if this process runs it. It can be resumed later.
    pub(crate) async fn close(&self) {
        self.features.stop_background();
        if let Some(held) = &self.held {
            // The host reports why it was not closed cleanly.
            held.close().await.ok();
        }
    }

    /// Has the host close the session once nothing runs in it.
    pub(crate) async fn close_when_quiet(&self) {
        if let Some(held) = &self.held {
            held.keep(KeepMode::UntilQuiet).await;
        }
    }

    /// Has the host keep the session for a client that joins it; returns whether a process runs the session.
    pub(crate) async fn keep_open(&self) -> bool {
        match &self.held {
            Some(held) => held.keep(KeepMode::UntilClosed).await.is_some(),
            None => self.call::<Value>(Method::SessionGet, Value::Null).await.is_ok(),
        }
    }

    /// Whether the session is open in this process.
    pub(crate) fn is_held(&self) -> bool {
        self.held.as_ref().is_some_and(|held| !held.is_closed())
    }
}

/// The error of a call of a session's API, for a client.
pub(crate) fn to_error_object(error: CallError) -> ErrorObject {
    match error {
        CallError::Refused(error) => error,
        error @ (CallError::Closed(_) | CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
            ErrorObject::internal(error)
        }
    }
}
