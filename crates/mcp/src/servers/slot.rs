//! One server: its connection, and its list of tools.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use host::Guardian;
use protocol::api::McpToolView;
use protocol::mcp_tool_name;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};
use tools::{OutsidePromptUsage, ToolAccess, ToolDescriptor};

use super::connection::{Connection, ConnectionState, Failures, ListedAt};
use super::start::McpStartError;
use super::{McpServersConfig, ServerCheck};
use crate::oauth::Credentials;
use crate::phase::PhaseCell;
use crate::prompts::McpPrompt;
use crate::server::DescriptionList;
use crate::session_secrets::SessionSecrets;
use crate::{McpAddress, McpServer, McpServerSettings, McpToolDescription, tool};

/// How long a list of tools is used although the server reports no change.
const MAX_LIST_AGE: Duration = Duration::from_secs(60);

/// How much longer than one request of a start the whole start may take.
const START_SLACK: Duration = Duration::from_millis(100);

/// One server.
#[derive(Debug)]
pub(crate) struct ServerSlot {
    pub(super) settings: McpServerSettings,
    /// The start of its tools' names.
    pub(super) prefix: String,
    /// A digest of its definition.
    pub(super) definition: String,
    pub(super) config: Arc<McpServersConfig>,
    /// Told of the tokens for it.
    pub(super) secrets: SessionSecrets,
    /// The token for it, once it was needed.
    pub(super) credentials: OnceLock<Arc<Credentials>>,
    pub(super) connection: AsyncMutex<ConnectionState>,
    /// When it last failed to start or to list its tools, and why.
    pub(super) failure: Mutex<Option<(Instant, String)>>,
    pub(crate) phase: PhaseCell,
    pub(super) is_enabled: Arc<AtomicBool>,
    /// The tools that were listed last, by the names that models use.
    pub(super) known: Mutex<Option<BTreeMap<String, McpToolDescription>>>,
}

impl ServerSlot {
    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// Whether the server is a program, which Bosun starts.
    pub(crate) fn is_program(&self) -> bool {
        matches!(self.settings.address, McpAddress::Program(_))
    }

    /// Has the next call connect anew, unless another connection has been made.
    pub(crate) async fn disconnect(&self, server: &Arc<McpServer>) {
        let mut state = self.connection.lock().await;
        if matches!(&*state, ConnectionState::Connected(connection) if Arc::ptr_eq(&connection.server, server)) {
            *state = ConnectionState::Disconnected(Failures::default());
        }
    }

    /// The server, started now if it does not run.
    pub(crate) async fn connected(&self, guardian: &Guardian) -> Result<Arc<McpServer>, String> {
        let mut state = self.connection.lock().await;
        let connected = async {
            let connection = self.connect(&mut state, guardian).await?;
            Ok(Arc::clone(&connection.server))
        };
        let connected = timeout(self.start_limit(), connected).await;
        connected.unwrap_or_else(|_elapsed| Err(self.note_slow_start(&mut state)))
    }

    /// The tools that agents may call, once they have been listed.
    pub(crate) fn known_tools(&self) -> Option<Vec<McpToolView>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let view = |(full_name, tool): (&String, &McpToolDescription)| McpToolView {
            name: tool.name.clone(),
            full_name: full_name.clone(),
            description: tool.description.clone(),
            read_only: tool.read_only,
        };
        known.as_ref().map(|known| known.iter().map(view).collect())
    }

    /// Connects, anew if there is a connection, and lists the tools.
    pub(crate) async fn reconnect(&self, guardian: &Guardian) -> Result<(), String> {
        self.stop(&mut *self.connection.lock().await);
        self.refresh(guardian, Duration::ZERO).await.map(drop)
    }

    pub(super) fn stop(&self, state: &mut ConnectionState) {
        *state = ConnectionState::Disconnected(Failures::default());
        self.phase.stopped();
    }

    /// The description of a tool as far as it is known without asking the server.
    pub(super) fn spec_of(&self, name: &str) -> ToolDescriptor {
        match self.known_tool(name).as_ref() {
            Some(description) => tool::descriptor(name.to_owned(), description),
            None => ToolDescriptor {
                name: name.to_owned().into(),
                description: "".into(),
                schema: serde_json::json!({ "type": "object" }),
                access: ToolAccess::Other,
            },
        }
    }

    pub(super) fn known_tool(&self, name: &str) -> Option<McpToolDescription> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(name).cloned()
    }

    pub(super) async fn check(&self, guardian: &Guardian) -> Result<ServerCheck, String> {
        let mut state = self.connection.lock().await;
        let listed = timeout(self.start_limit(), self.list_connection(&mut state, guardian)).await;
        let (server, list) = listed.unwrap_or_else(|_elapsed| Err(self.note_slow_start(&mut state)))?;
        let revision = server.revision();
        let (tools, rejected) = self.named_tools(list);
        let tools = tools.into_iter().map(|(name, tool)| (name, tool.description)).collect();
        let prompts = server.prompts().await.map_err(|error| error.to_string())?;
        let shown = |prompt: &McpPrompt| {
            let OutsidePromptUsage { usage, description } = prompt.as_command(server.name());
            (usage, description)
        };
        let (prompts, has_resources) = (prompts.iter().map(shown).collect(), server.capabilities().has_resources);
        Ok(ServerCheck { revision, tools, rejected, prompts, has_resources })
    }

    /// The tools of the server, as models see them.
    pub(super) async fn list(&self, guardian: &Guardian) -> Result<Vec<ToolDescriptor>, String> {
        self.refresh(guardian, MAX_LIST_AGE).await?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = known.iter().flatten();
        Ok(tools.map(|(name, description)| tool::descriptor(name.clone(), description)).collect())
    }

    /// Returns the server, with a list of its tools that is at most this old.
    pub(super) async fn refresh(&self, guardian: &Guardian, max_age: Duration) -> Result<Arc<McpServer>, String> {
        let arrived = Instant::now();
        let mut state = self.connection.lock().await;
        if !self.is_enabled.load(Ordering::Relaxed) {
            self.stop(&mut state);
            return Err("it is disabled".into());
        }
        if let Some(server) = state.listed_server(max_age) {
            return Ok(server);
        }
        if let Some(why) = self.failure_since(arrived) {
            return Err(why);
        }
        let refreshed = timeout(self.start_limit(), self.refresh_connection(&mut state, guardian)).await;
        let refreshed = refreshed.unwrap_or_else(|_elapsed| Err(self.note_slow_start(&mut state)));
        if let Err(why) = &refreshed {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), why.clone()));
        }
        if !self.is_enabled.load(Ordering::Relaxed) {
            self.stop(&mut state);
        }
        refreshed
    }

    /// Why it failed while a caller waited for it: the caller does not wait a second time.
    pub(super) fn failure_since(&self, time: Instant) -> Option<String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().filter(|(failed, _)| *failed >= time).map(|(_, why)| why.clone())
    }

    /// How long starting and listing may take together: a little longer than one request of them, whose error says more.
    pub(super) fn start_limit(&self) -> Duration {
        self.settings.start_timeout + START_SLACK
    }

    /// Counts a start that took too long as failed; returns the reason.
    pub(super) fn note_slow_start(&self, state: &mut ConnectionState) -> String {
        let why = format!("it did not start and list its tools within {} s", self.settings.start_timeout.as_secs());
        if let ConnectionState::Disconnected(failures) = state {
            *state = ConnectionState::Disconnected(failures.after(&why));
        }
        self.phase.failed(&why, false);
        why
    }

    pub(super) async fn list_connection(
        &self,
        state: &mut ConnectionState,
        guardian: &Guardian,
    ) -> Result<(Arc<McpServer>, DescriptionList), String> {
        let connection = self.connect(state, guardian).await?;
        let list = connection.server.fetch_descriptions().await.map_err(|error| error.to_string())?;
        Ok((Arc::clone(&connection.server), list))
    }

    pub(super) async fn refresh_connection(
        &self,
        state: &mut ConnectionState,
        guardian: &Guardian,
    ) -> Result<Arc<McpServer>, String> {
        let connection = self.connect(state, guardian).await?;
        let changes = connection.server.tool_changes();
        let list = connection.server.fetch_descriptions().await.map_err(|error| {
            let why = error.to_string();
            self.phase.failed(&why, error.needs_login());
            why
        })?;
        connection.listed = Some(ListedAt { time: Instant::now(), changes });
        let (tools, rejected) = self.named_tools(list);
        for why in rejected {
            tracing::warn!(server = self.settings.name, "a tool of an MCP server is not used: {why}");
        }
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(tools);
        self.phase.connected(&connection.server);
        Ok(Arc::clone(&connection.server))
    }

    /// The tools that agents may call, by the names that models use.
    pub(super) fn named_tools(&self, list: DescriptionList) -> (BTreeMap<String, McpToolDescription>, Vec<String>) {
        let DescriptionList { descriptions, mut rejected } = list;
        let mut tools = BTreeMap::new();
        for description in descriptions.into_iter().filter(|tool| self.settings.permits(&tool.name)) {
            let name = mcp_tool_name(&self.settings.name, &description.name);
            match tools.entry(name) {
                Entry::Vacant(place) => drop(place.insert(description)),
                Entry::Occupied(_) => {
                    rejected.push(format!("another tool already has the name of `{}`", description.name));
                }
            }
        }
        (tools, rejected)
    }

    /// The connection, made now if there is none. Callers wait for each other, so that only one makes it.
    pub(super) async fn connect<'a>(
        &self,
        state: &'a mut ConnectionState,
        guardian: &Guardian,
    ) -> Result<&'a mut Connection, String> {
        if !self.is_enabled.load(Ordering::Relaxed) {
            return Err("it is disabled".into());
        }
        state.note_loss();
        if let ConnectionState::Disconnected(failures) = &*state {
            let failures = failures.clone();
            if let Some((why, until)) = &failures.pause
                && *until > Instant::now()
            {
                let seconds = until.duration_since(Instant::now()).as_secs() + 1;
                return Err(format!("{why}; it may be started again in {seconds} s"));
            }
            self.phase.starting();
            match self.start(guardian).await {
                Ok(server) => {
                    let since = Instant::now();
                    *state = ConnectionState::Connected(Connection {
                        server,
                        since,
                        listed: None,
                        failures: failures.count,
                    });
                }
                Err(McpStartError { why, needs_auth, .. }) => {
                    self.phase.failed(&why, needs_auth);
                    *state = ConnectionState::Disconnected(failures.after(&why));
                    return Err(why);
                }
            }
        }
        match state {
            ConnectionState::Connected(connection) => Ok(connection),
            ConnectionState::Disconnected(_) => Err("it is not connected".into()),
        }
    }
}
