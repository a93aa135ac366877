//! The state that all clients of one process share: the session host, the token, and what clients share of each session.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use net::Secret;
use protocol::SessionId;
use protocol::api::Method;
use rpc::ErrorObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use server::SessionHost;
use tokio_util::sync::CancellationToken;

use super::args::CallApproval;
use super::base_dir::ClientBaseDir;
use super::client_inference::ClientInference;
use super::client_state::ClientState;
use super::hosted_session::HostedSession;
use super::peer::ClientPeer;
use super::session_clients::SessionClient;
use super::state_provider::StateProvider;
use crate::token::AccessToken;

/// One session, if it is open here. Locked while the session is opened or closed.
pub(crate) type SessionCell = Arc<tokio::sync::Mutex<Option<Arc<HostedSession>>>>;

/// Variables with which the SDKs pass options on that have no effect here.
const VARIABLES_WITHOUT_EFFECT: [&str; 1] = ["COPILOT_OTEL_ENABLED"];

/// Folders of plugins that clients have set for new sessions.
#[derive(Debug, Default)]
struct ClientPluginFolders {
    /// Those that belong to the client's program.
    builtin: Vec<PathBuf>,
    /// Those that sessions get in addition.
    additional: Vec<PathBuf>,
}

/// The state that all clients of one process share.
pub(crate) struct CopilotServer {
    /// The sessions that run in this process.
    pub(crate) sessions: Arc<SessionHost>,
    /// The clients' base directory: they see only sessions created under the same one.
    pub(crate) base_dir: ClientBaseDir,
    /// What the clients have configured.
    pub(crate) state: ClientState,
    /// The client that sends requests to models itself.
    pub(crate) inference: Arc<ClientInference>,
    /// Flags and variables that this process was started with and that have no effect.
    without_effect: Vec<String>,
    token: Option<AccessToken>,
    /// Who decides on calls of new sessions.
    approval: CallApproval,
    cells: Mutex<HashMap<SessionId, SessionCell>>,
    /// Folders of plugins that clients have set for new sessions.
    plugin_folders: Mutex<ClientPluginFolders>,
    /// Texts that sessions must not write.
    secrets: Mutex<Vec<Secret>>,
    /// The client that keeps the state of sessions.
    state_provider: Mutex<Option<Arc<StateProvider>>>,
    closing: CancellationToken,
}

impl CopilotServer {
    /// The state of a process with this token, and with flags that have no effect.
    pub(crate) fn new(
        sessions: Arc<SessionHost>,
        token: Option<AccessToken>,
        mut without_effect: Vec<String>,
    ) -> CopilotServer {
        let variables = VARIABLES_WITHOUT_EFFECT.iter().filter(|name| sessions.opener().variable(name).is_some());
        without_effect.extend(variables.map(|name| (*name).to_owned()));
        let base_dir = ClientBaseDir::from_variable(sessions.opener().variable("COPILOT_HOME"));
        CopilotServer {
            state: ClientState::new(sessions.home(), &base_dir),
            base_dir,
            inference: Arc::default(),
            without_effect,
            sessions,
            token,
            approval: CallApproval::Clients,
            cells: Mutex::default(),
            plugin_folders: Mutex::default(),
            secrets: Mutex::default(),
            state_provider: Mutex::default(),
            closing: CancellationToken::new(),
        }
    }

    /// Flags and variables that this process was started with and that have no effect.
    pub(crate) fn without_effect(&self) -> &[String] {
        &self.without_effect
    }

    /// Sets who decides on calls of new sessions.
    pub(crate) fn with_approval(self, approval: CallApproval) -> CopilotServer {
        CopilotServer { approval, ..self }
    }

    /// Whether every call of new sessions is allowed.
    pub(crate) fn allows_all(&self) -> bool {
        self.approval == CallApproval::AllowAll
    }

    /// Whether clients must send a token first.
    pub(crate) fn requires_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether this token is right, or none is needed.
    pub(crate) fn accepts_token(&self, text: Option<&str>) -> bool {
        self.token.as_ref().is_none_or(|token| text.is_some_and(|text| token.matches(text.as_bytes())))
    }

    /// The cell of a session. Removes those of sessions that have been closed.
    pub(crate) fn cell(&self, id: SessionId) -> SessionCell {
        let mut cells = self.lock_cells();
        cells.retain(|other, cell| *other == id || is_in_use(cell));
        Arc::clone(cells.entry(id).or_default())
    }

    /// A session, if it is open here.
    pub(crate) async fn opened(&self, id: SessionId) -> Option<Arc<HostedSession>> {
        let cell = self.lock_cells().get(&id).cloned()?;
        let current = cell.lock().await;
        current.clone()
    }

    /// Removes a client from a session. The host closes a session without clients once it is idle; until then the
    /// session keeps running, and clients can rejoin it.
    pub(crate) async fn client_left(&self, session: &Arc<HostedSession>, client: &Arc<SessionClient>) {
        let cell = self.cell(session.id());
        // Clients join under this lock.
        let mut current = cell.lock().await;
        let is_last = session.clients.has_no_other_client(Some(client));
        if is_last && !session.is_busy() {
            // Close before removing the client, so that its hooks can still see the end of the session.
            session.close().await;
        }
        session.clients.remove(client);
        if is_last {
            session.close_when_quiet().await;
            let is_current = current.as_ref().is_some_and(|current| Arc::ptr_eq(current, session));
            if is_current && !session.is_held() {
                *current = None;
            }
        }
    }

    /// Closes a session even if clients watch it.
    pub(crate) async fn evict(&self, id: SessionId) {
        let cell = self.lock_cells().get(&id).cloned();
        let Some(cell) = cell else { return };
        if let Some(session) = cell.lock().await.take() {
            session.close().await;
        }
    }

    /// Replaces the folders of plugins that belong to the client's program.
    pub(crate) fn set_builtin_plugins(&self, folders: Vec<PathBuf>) {
        self.lock_plugin_folders().builtin = folders;
    }

    /// Replaces the folders of plugins that sessions get in addition.
    pub(crate) fn set_additional_plugins(&self, folders: Vec<PathBuf>) {
        self.lock_plugin_folders().additional = folders;
    }

    /// The folders of plugins that clients have set for new sessions.
    pub(crate) fn plugin_folders(&self) -> Vec<PathBuf> {
        let folders = self.lock_plugin_folders();
        folders.builtin.iter().chain(&folders.additional).cloned().collect()
    }

    /// Adds texts that sessions must not write; returns false if a session is open, which would not know them.
    pub(crate) fn add_secrets(&self, texts: Vec<&str>) -> bool {
        let is_open = self.has_open_session();
        if !is_open {
            self.lock_secrets().extend(texts.into_iter().map(Secret::new));
        }
        !is_open
    }

    /// Has a client keep the state of sessions; returns false if another client does, or a session is open, whose state
    /// it would not have.
    pub(crate) fn set_state_provider(&self, provider: StateProvider) -> bool {
        let mut current = self.lock_state_provider();
        let is_free = current.is_none() && !self.has_open_session();
        if is_free {
            *current = Some(Arc::new(provider));
        }
        is_free
    }

    /// The client that keeps the state of sessions.
    pub(crate) fn state_provider(&self) -> Option<Arc<StateProvider>> {
        self.lock_state_provider().clone()
    }

    /// Forgets a client that has left.
    pub(crate) fn state_client_left(&self, peer: &Arc<ClientPeer>) {
        self.lock_state_provider().take_if(|provider| provider.is_of(peer));
    }

    fn has_open_session(&self) -> bool {
        // Sessions that are being opened have a locked cell.
        self.lock_cells().values().any(|cell| {
            cell.try_lock().map_or(true, |session| session.as_ref().is_some_and(|session| session.is_held()))
        })
    }

    /// The texts that sessions must not write.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        self.lock_secrets().clone()
    }

    /// Asks the process that knows the user's settings.
    pub(crate) async fn ask_settings<R: DeserializeOwned>(
        &self,
        method: Method,
        params: impl Serialize,
    ) -> Result<R, ErrorObject> {
        let params = serde_json::to_value(params).map_err(ErrorObject::internal)?;
        let answer = self.sessions.opener().answer(method, params).await;
        let answer = answer.map_err(|error| ErrorObject::internal(error.in_one_line()))?;
        serde_json::from_value(answer).map_err(ErrorObject::internal)
    }

    /// Ends the server after the current calls are answered.
    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    /// Waits until the server begins to close.
    pub(crate) async fn close_requested(&self) {
        self.closing.cancelled().await;
    }

    /// Closes every session: running work is interrupted and can be resumed.
    pub(crate) async fn shut_down(&self) {
        self.closing.cancel();
        self.sessions.shut_down().await;
    }

    fn lock_state_provider(&self) -> MutexGuard<'_, Option<Arc<StateProvider>>> {
        self.state_provider.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_secrets(&self) -> MutexGuard<'_, Vec<Secret>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_plugin_folders(&self) -> MutexGuard<'_, ClientPluginFolders> {
        self.plugin_folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_cells(&self) -> MutexGuard<'_, HashMap<SessionId, SessionCell>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a session is being opened or closed, or is open.
fn is_in_use(cell: &SessionCell) -> bool {
    Arc::strong_count(cell) > 1
        || cell.try_lock().is_ok_and(|session| session.as_ref().is_some_and(|session| session.is_held()))
}
