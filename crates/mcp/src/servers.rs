//! The servers of a session. All its agents share one connection to each, which is made when the first of them needs it
//! and made again, with growing delays, when it is lost.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use futures_util::future::join_all;
use host::{Clock, Guardian, SystemClock};
use net::{NetworkRoute, Secret};
use protocol::api::McpToolView;
use protocol::mcp_tool_name;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};
use tools::{
    BoxFuture, CatalogListing, McpServerControl, OutsidePrompt, RemoteOutcome, RemoteTaskContext, RemoteTaskEnd,
    RemoteTaskRef, RemoteTasks, RequiredPermission, Tool, ToolAccess, ToolCatalog, ToolContext, ToolDescriptor,
    ToolError, ToolLimits, ToolOutput,
};
use url::Url;

use crate::http::{HttpTransport, HttpTransportSetup};
use crate::oauth::{Credentials, CredentialsSetup};
use crate::phase::PhaseCell;
use crate::prompts::McpPrompt;
use crate::remote_task::{self, RemoteTaskFollower};
use crate::server::DescriptionList;
use crate::stdio::StdioTransport;
use crate::{
    DefinedMcpServer, LoginPrompter, LoginStore, McpAddress, McpNegotiation, McpOAuthSettings, McpOptions, McpRevision,
    McpServer, McpServerDefiner, McpServerSettings, McpTaskSupport, McpTimeouts, McpToolDescription, McpTransport,
    SamplingPolicy, ServerLog, tool,
};

/// How long a list of tools is used although the server reports no change.
const MAX_LIST_AGE: Duration = Duration::from_secs(60);

/// The delay before the second start in a row; each further one doubles it.
const FIRST_RESTART_DELAY: Duration = Duration::from_secs(1);

/// The longest delay before a start.
const MAX_RESTART_DELAY: Duration = Duration::from_secs(60);

/// How much longer than one request of a start the whole start may take.
const START_SLACK: Duration = Duration::from_millis(100);

/// How long the cancellation of a task may take, with the connection that it needs.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(8);

/// A connection that lasted this long was a success, whatever ended it.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// The servers of a session, and what they need to be started.
#[derive(Debug, Clone, Default)]
pub struct McpServersConfig {
    /// The servers: each name once, except for those of agents.
    pub servers: Vec<DefinedMcpServer>,
    /// Checks servers that are added later; without it, none can be.
    pub definer: Option<Arc<dyn McpServerDefiner>>,
    /// The environment that all programs get.
    pub env: Vec<(OsString, OsString)>,
    /// The route to servers with a URL.
    pub route: NetworkRoute,
    /// The folders that they may work with.
    pub roots: Vec<PathBuf>,
    /// Where the error output of programs is kept.
    pub logs: Option<PathBuf>,
    /// Whether they may do calls as tasks of their own.
    pub tasks: McpTaskSupport,
    /// The user's logins to servers with a URL.
    pub logins: McpLogins,
}

/// The user's logins to servers.
#[derive(Debug, Clone)]
pub struct McpLogins {
    /// Where they are kept; they end with the process when absent.
    pub store: Option<LoginStore>,
    /// Lets the user sign in when a server asks for it; without it, only logins that exist are used.
    pub prompter: Option<Arc<dyn LoginPrompter>>,
    /// Says when tokens end.
    pub clock: Arc<dyn Clock>,
}

impl Default for McpLogins {
    fn default() -> McpLogins {
        McpLogins { store: None, prompter: None, clock: Arc::new(SystemClock) }
    }
}

/// The servers of a session. As a catalogue, it has those that every agent may use.
#[derive(Debug)]
pub struct McpServers {
    entries: RwLock<Vec<Arc<ServerEntry>>>,
    config: Arc<McpServersConfig>,
}

/// A server of the session, usable or not.
#[derive(Debug)]
pub(crate) struct ServerEntry {
    pub(crate) defined: DefinedMcpServer,
    /// Its connection, if it has usable settings.
    pub(crate) slot: Option<Arc<ServerSlot>>,
    is_enabled: Arc<AtomicBool>,
    /// Whether a client added it while the session ran.
    pub(crate) is_added: bool,
}

/// The servers that agents of one definition may use: those of the session, and their own.
#[derive(Debug)]
struct AgentMcpServers {
    servers: Arc<McpServers>,
    agent: String,
}

/// One server.
#[derive(Debug)]
pub(crate) struct ServerSlot {
    settings: McpServerSettings,
    /// The start of its tools' names.
    prefix: String,
    config: Arc<McpServersConfig>,
    /// The token for it, once it was needed.
    credentials: OnceLock<Arc<Credentials>>,
    connection: AsyncMutex<ConnectionState>,
    /// When it last failed to start or to list its tools, and why.
    failure: Mutex<Option<(Instant, String)>>,
    pub(crate) phase: PhaseCell,
    is_enabled: Arc<AtomicBool>,
    /// The tools that were listed last, by the names that models use.
    known: Mutex<Option<BTreeMap<String, McpToolDescription>>>,
}

/// The connection to a server.
#[derive(Debug)]
enum ConnectionState {
    /// There is none; the last starts failed this often in a row.
    Disconnected(Failures),
    Connected(Connection),
}

#[derive(Debug, Clone, Default)]
struct Failures {
    count: u32,
    /// Why and until when no start is attempted.
    pause: Option<(String, Instant)>,
}

#[derive(Debug)]
struct Connection {
    server: Arc<McpServer>,
    since: Instant,
    listed: Option<ListedAt>,
    /// How often a connection was lost before this one.
    failures: u32,
}

/// When the tools were listed, and how many changes the server had reported by then.
#[derive(Debug, Clone, Copy)]
struct ListedAt {
    time: Instant,
    changes: u64,
}

/// What a connection to a server shows.
#[derive(Debug)]
pub struct ServerCheck {
    /// The negotiated revision.
    pub revision: McpRevision,
    /// The names of its tools, as models use them, with their descriptions.
    pub tools: Vec<(String, String)>,
    /// Why some of its tools cannot be used.
    pub rejected: Vec<String>,
    /// Its prompts, as users run them, with their arguments and descriptions.
    pub prompts: Vec<(String, String)>,
    /// Whether it has resources.
    pub has_resources: bool,
}

impl McpServers {
    /// The servers of this configuration. Nothing is started.
    pub fn new(mut config: McpServersConfig) -> McpServers {
        let servers = std::mem::take(&mut config.servers);
        let config = Arc::new(config);
        let entries = servers.into_iter().map(|defined| Arc::new(ServerEntry::new(defined, &config))).collect();
        McpServers { entries: RwLock::new(entries), config }
    }

    /// Connects to a server and lists its tools; the error text says why that fails. `None` if there is no such server.
    pub async fn check(&self, server: &str, guardian: &Guardian) -> Option<Result<ServerCheck, String>> {
        let entry = self.entries().into_iter().find(|entry| entry.defined.key() == server)?;
        Some(match (&entry.slot, &entry.defined.settings) {
            (Some(slot), _) => slot.check(guardian).await,
            (None, Err(why)) => Err(why.clone()),
            (None, Ok(_)) => return None,
        })
    }

    pub(crate) fn entries(&self) -> Vec<Arc<ServerEntry>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn entries_mut(&self) -> RwLockWriteGuard<'_, Vec<Arc<ServerEntry>>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn config(&self) -> &Arc<McpServersConfig> {
        &self.config
    }

    /// The server with this name; one of the session rather than one of an agent.
    fn slot_named(&self, name: &str) -> Option<Arc<ServerSlot>> {
        let entries = self.entries();
        let named = entries.iter().filter(|entry| entry.defined.name == name);
        named.min_by_key(|entry| entry.defined.agent.is_some())?.slot.clone()
    }

    /// The servers that agents of a definition may use now. Their own hide those of the session with the same name.
    fn usable(&self, agent: Option<&str>) -> Vec<Arc<ServerSlot>> {
        let entries = self.entries();
        let is_own = |entry: &ServerEntry| agent.is_some() && entry.defined.agent.as_deref() == agent;
        let is_hidden = |name: &str| entries.iter().any(|entry| is_own(entry) && entry.defined.name == name);
        let is_shared = |entry: &ServerEntry| entry.defined.agent.is_none() && !is_hidden(&entry.defined.name);
        let usable = entries.iter().filter(|entry| entry.is_enabled() && (is_own(entry) || is_shared(entry)));
        usable.filter_map(|entry| entry.slot.clone()).collect()
    }
}

/// The result of signing in to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginOutcome {
    /// The user signed in.
    SignedIn {
        /// The number of its tools.
        tools: usize,
    },
    /// The server gives access without a login.
    NotNeeded,
}

impl McpServers {
    /// Signs in to a server, with the prompter of the configuration; the error text says why that fails. `None` if there
    /// is no such server.
    pub async fn log_in(&self, server: &str, guardian: &Guardian) -> Option<Result<LoginOutcome, String>> {
        let slot = self.slot_named(server)?;
        Some(slot.log_in(guardian).await)
    }
}

impl ToolCatalog for McpServers {
    fn for_agent(self: Arc<Self>, definition: &str) -> Arc<dyn ToolCatalog> {
        Arc::new(AgentMcpServers { servers: self, agent: definition.to_owned() })
    }

    fn sources(&self) -> Vec<String> {
        names_of(&self.usable(None))
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        tool_of(&self.usable(None), name)
    }

    fn resources<'a>(&'a self, source: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(resources_of(self.usable(None), source, guardian))
    }

    fn read_resource<'a>(
        &'a self,
        source: &'a str,
        uri: &'a str,
        guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(resource_of(self.usable(None), source, uri, guardian))
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
        guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<OutsidePrompt, ToolError>> {
        Box::pin(prompt_of(self.usable(None), name, arguments, guardian))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let entries = self.entries();
            join_all(entries.iter().filter_map(|entry| entry.slot.as_ref()).map(|slot| slot.close())).await;
        })
    }

    fn list<'a>(&'a self, query: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, CatalogListing> {
        Box::pin(list_of(self.usable(None), query, guardian))
    }

    fn remote_tasks(&self) -> Option<&dyn RemoteTasks> {
        Some(self)
    }

    fn control(&self) -> Option<&dyn McpServerControl> {
        Some(self)
    }
}

impl ToolCatalog for AgentMcpServers {
    fn for_agent(self: Arc<Self>, definition: &str) -> Arc<dyn ToolCatalog> {
        Arc::clone(&self.servers).for_agent(definition)
    }

    fn sources(&self) -> Vec<String> {
        names_of(&self.servers.usable(Some(&self.agent)))
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        tool_of(&self.servers.usable(Some(&self.agent)), name)
    }

    fn resources<'a>(&'a self, source: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(resources_of(self.servers.usable(Some(&self.agent)), source, guardian))
    }

    fn read_resource<'a>(
        &'a self,
        source: &'a str,
        uri: &'a str,
        guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(resource_of(self.servers.usable(Some(&self.agent)), source, uri, guardian))
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
        guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<OutsidePrompt, ToolError>> {
        Box::pin(prompt_of(self.servers.usable(Some(&self.agent)), name, arguments, guardian))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.servers.close()
    }

    fn list<'a>(&'a self, query: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, CatalogListing> {
        Box::pin(list_of(self.servers.usable(Some(&self.agent)), query, guardian))
    }

    fn remote_tasks(&self) -> Option<&dyn RemoteTasks> {
        Some(&*self.servers)
    }
}

fn names_of(slots: &[Arc<ServerSlot>]) -> Vec<String> {
    slots.iter().map(|slot| slot.settings.name.clone()).collect()
}

fn tool_of(slots: &[Arc<ServerSlot>], name: &str) -> Option<Arc<dyn Tool>> {
    let of_server = slots.iter().filter(|slot| name.starts_with(&slot.prefix));
    let slot = of_server.max_by_key(|slot| slot.prefix.len())?;
    Some(Arc::new(SharedMcpTool { spec: slot.spec_of(name), slot: Arc::clone(slot) }))
}

async fn list_of(slots: Vec<Arc<ServerSlot>>, query: &str, guardian: &Guardian) -> CatalogListing {
    let query = query.to_lowercase();
    let is_named = |slot: &&Arc<ServerSlot>| {
        let names = [&slot.settings.name, &slot.prefix].map(|name| name.to_lowercase());
        names.iter().any(|name| query.contains(name.as_str()))
    };
    let named: Vec<&Arc<ServerSlot>> = slots.iter().filter(is_named).collect();
    let asked = if named.is_empty() { slots.iter().collect() } else { named };
    let listed = join_all(asked.iter().map(|slot| slot.list(guardian))).await;
    let mut listing = CatalogListing::default();
    for (slot, listed) in asked.iter().zip(listed) {
        match listed {
            Ok(tools) => listing.tools.extend(tools),
            Err(why) => {
                let name = &slot.settings.name;
                tracing::warn!(server = name, why, "an MCP server is not available");
                listing.problems.push(format!("the MCP server `{name}` is not available: {why}"));
            }
        }
    }
    listing
}

/// The connection to one of these servers, made now if there is none.
async fn connected(slots: &[Arc<ServerSlot>], source: &str, guardian: &Guardian) -> Result<Arc<McpServer>, ToolError> {
    let unavailable = |why: String| ToolError::refused(format!("the MCP server `{source}` is not available: {why}"));
    let slot = slots.iter().find(|slot| slot.settings.name == source);
    let slot = slot.ok_or_else(|| ToolError::refused(format!("there is no MCP server `{source}`")))?;
    let mut state = slot.connection.lock().await;
    let connection = slot.connect(&mut state, guardian).await.map_err(unavailable)?;
    Ok(Arc::clone(&connection.server))
}

async fn resources_of(slots: Vec<Arc<ServerSlot>>, source: &str, guardian: &Guardian) -> Result<String, ToolError> {
    let server = connected(&slots, source, guardian).await?;
    server.resource_list().await.map_err(|error| ToolError::refused(error.to_string()))
}

async fn resource_of(
    slots: Vec<Arc<ServerSlot>>,
    source: &str,
    uri: &str,
    guardian: &Guardian,
) -> Result<String, ToolError> {
    let server = connected(&slots, source, guardian).await?;
    server.read_resource(uri).await.map_err(|error| ToolError::refused(error.to_string()))
}

async fn prompt_of(
    slots: Vec<Arc<ServerSlot>>,
    name: &str,
    arguments: &str,
    guardian: &Guardian,
) -> Result<OutsidePrompt, ToolError> {
    let refused = |error: &dyn std::fmt::Display| ToolError::refused(error.to_string());
    let of_server = slots.iter().filter(|slot| name.starts_with(&slot.prefix));
    let Some(slot) = of_server.max_by_key(|slot| slot.prefix.len()) else {
        let names = names_of(&slots).join(", ");
        return Err(ToolError::refused(format!("there is no such MCP server; there are: {names}")));
    };
    let source = slot.settings.name.clone();
    let server = connected(&slots, &source, guardian).await?;
    let prompts = server.prompts().await.map_err(|error| refused(&error))?;
    let Some(prompt) = prompts.iter().find(|prompt| prompt.command(&source) == name) else {
        let names: Vec<String> = prompts.iter().map(|prompt| format!("/{}", prompt.command(&source))).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(ToolError::refused(format!("the MCP server `{source}` has no such prompt; it has: {names}")));
    };
    let arguments = prompt.parse(arguments).map_err(ToolError::Refused)?;
    let text = server.prompt_text(prompt, arguments).await.map_err(|error| refused(&error))?;
    Ok(OutsidePrompt { source, text })
}

impl ServerEntry {
    pub(crate) fn new(defined: DefinedMcpServer, config: &Arc<McpServersConfig>) -> ServerEntry {
        let is_enabled = Arc::new(AtomicBool::new(defined.is_enabled));
        let slot = |settings: &McpServerSettings| {
            Arc::new(ServerSlot {
                prefix: mcp_tool_name(&settings.name, ""),
                settings: settings.clone(),
                config: Arc::clone(config),
                credentials: OnceLock::new(),
                connection: AsyncMutex::new(ConnectionState::Disconnected(Failures::default())),
                failure: Mutex::default(),
                phase: PhaseCell::default(),
                is_enabled: Arc::clone(&is_enabled),
                known: Mutex::default(),
            })
        };
        let slot = defined.settings.as_ref().ok().map(slot);
        ServerEntry { defined, slot, is_enabled, is_added: false }
    }

    /// The same server, if a client added it.
    pub(crate) fn added_by_client(self) -> ServerEntry {
        ServerEntry { is_added: true, ..self }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.is_enabled.load(Ordering::Relaxed)
    }

    /// Switches the server on or off. Calls that it is working on end as usual.
    pub(crate) fn set_enabled(&self, enabled: bool) {
        self.is_enabled.store(enabled, Ordering::Relaxed);
        let Some(slot) = self.slot.as_ref().filter(|_| !enabled) else { return };
        // Who holds the lock now disconnects when it is done.
        if let Ok(mut state) = slot.connection.try_lock() {
            slot.stop(&mut state);
        }
    }
}

impl RemoteTasks for McpServers {
    fn follow<'a>(&'a self, task: RemoteTaskRef<'a>, cx: &'a RemoteTaskContext) -> BoxFuture<'a, RemoteTaskEnd> {
        Box::pin(async move {
            let name = &task.spec.server;
            match self.slot_named(name) {
                Some(slot) => RemoteTaskFollower::new(&slot, task, cx).run().await,
                None => {
                    let text = format!("the MCP server `{name}` is not in the settings any more; its task is lost");
                    RemoteTaskEnd { outcome: RemoteOutcome::Lost, text }
                }
            }
        })
    }

    fn cancel<'a>(&'a self, task: RemoteTaskRef<'a>, guardian: &'a Guardian) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(slot) = self.slot_named(&task.spec.server) else { return };
            let cancel = async {
                match slot.connected(guardian).await {
                    Ok(server) => remote_task::cancel(&server, &task.remote.id).await,
                    Err(why) => tracing::info!(why, "a task of an MCP server may not be cancelled"),
                }
            };
            if timeout(CANCEL_TIMEOUT, cancel).await.is_err() {
                tracing::info!(server = slot.settings.name, "an MCP server did not cancel a task in time");
            }
        })
    }
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

    fn stop(&self, state: &mut ConnectionState) {
        *state = ConnectionState::Disconnected(Failures::default());
        self.phase.stopped();
    }

    /// The description of a tool as far as it is known without asking the server.
    fn spec_of(&self, name: &str) -> ToolDescriptor {
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

    fn known_tool(&self, name: &str) -> Option<McpToolDescription> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(name).cloned()
    }

    async fn check(&self, guardian: &Guardian) -> Result<ServerCheck, String> {
        let mut state = self.connection.lock().await;
        let listed = timeout(self.start_limit(), self.list_connection(&mut state, guardian)).await;
        let (server, list) = listed.unwrap_or_else(|_elapsed| Err(self.note_slow_start(&mut state)))?;
        let revision = server.revision();
        let (tools, rejected) = self.named_tools(list);
        let tools = tools.into_iter().map(|(name, tool)| (name, tool.description)).collect();
        let prompts = server.prompts().await.map_err(|error| error.to_string())?;
        let shown = |prompt: &McpPrompt| {
            let usage = format!("/{} {}", prompt.command(server.name()), prompt.hint());
            (usage.trim_end().to_owned(), prompt.description.clone())
        };
        let (prompts, has_resources) = (prompts.iter().map(shown).collect(), server.capabilities().has_resources);
        Ok(ServerCheck { revision, tools, rejected, prompts, has_resources })
    }

    /// The tools of the server, as models see them.
    async fn list(&self, guardian: &Guardian) -> Result<Vec<ToolDescriptor>, String> {
        self.refresh(guardian, MAX_LIST_AGE).await?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = known.iter().flatten();
        Ok(tools.map(|(name, description)| tool::descriptor(name.clone(), description)).collect())
    }

    /// Returns the server, with a list of its tools that is at most this old.
    async fn refresh(&self, guardian: &Guardian, max_age: Duration) -> Result<Arc<McpServer>, String> {
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
    fn failure_since(&self, time: Instant) -> Option<String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().filter(|(failed, _)| *failed >= time).map(|(_, why)| why.clone())
    }

    /// How long starting and listing may take together: a little longer than one request of them, whose error says more.
    fn start_limit(&self) -> Duration {
        self.settings.start_timeout + START_SLACK
    }

    /// Counts a start that took too long as failed; returns the reason.
    fn note_slow_start(&self, state: &mut ConnectionState) -> String {
        let why = format!("it did not start and list its tools within {} s", self.settings.start_timeout.as_secs());
        if let ConnectionState::Disconnected(failures) = state {
            *state = ConnectionState::Disconnected(failures.after(&why));
        }
        self.phase.failed(&why, false);
        why
    }

    async fn list_connection(
        &self,
        state: &mut ConnectionState,
        guardian: &Guardian,
    ) -> Result<(Arc<McpServer>, DescriptionList), String> {
        let connection = self.connect(state, guardian).await?;
        let list = connection.server.fetch_descriptions().await.map_err(|error| error.to_string())?;
        Ok((Arc::clone(&connection.server), list))
    }

    async fn refresh_connection(
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
    fn named_tools(&self, list: DescriptionList) -> (BTreeMap<String, McpToolDescription>, Vec<String>) {
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
    async fn connect<'a>(
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

    /// Starts the server. A program that ends when it is asked for the newest revision is started again without that.
    async fn start(&self, guardian: &Guardian) -> Result<Arc<McpServer>, McpStartError> {
        let negotiation = self.settings.revision.map_or(McpNegotiation::NewestFirst, McpNegotiation::Only);
        match self.start_with(guardian, negotiation).await {
            Err(McpStartError { is_early_end: true, .. }) => {
                self.start_with(guardian, McpNegotiation::Only(McpRevision::Session)).await
            }
            started => started,
        }
    }

    async fn start_with(
        &self,
        guardian: &Guardian,
        negotiation: McpNegotiation,
    ) -> Result<Arc<McpServer>, McpStartError> {
        let failed = |why: String| McpStartError { why, is_early_end: false, needs_auth: false };
        let transport: Arc<dyn McpTransport> = match &self.settings.address {
            McpAddress::Program(program) => {
                let folder = self.config.logs.as_deref();
                let log = folder.map(|folder| ServerLog::at(ServerLog::path(folder, &self.settings.name)));
                let started = StdioTransport::start(guardian, program, &self.config.env, log.unwrap_or_default());
                Arc::new(started.await.map_err(failed)?)
            }
            McpAddress::Url { url, headers, oauth } => {
                let credentials = self.credentials(url, headers, oauth).map_err(failed)?;
                let (route, url, headers) = (self.config.route.clone(), url.clone(), headers.clone());
                let setup = HttpTransportSetup { route, url, headers, credentials };
                Arc::new(HttpTransport::new(setup).map_err(|error| failed(error.to_string()))?)
            }
        };
        let McpServerSettings { start_timeout, call_timeout, task_timeout, .. } = self.settings;
        let (initialize, list, call, task) = (start_timeout, start_timeout, call_timeout, task_timeout);
        let options = McpOptions {
            timeouts: McpTimeouts { initialize, list, call, task },
            negotiation,
            sampling: if self.settings.sampling { SamplingPolicy::Allowed } else { SamplingPolicy::Refused },
            roots: self.config.roots.clone(),
            tasks: self.config.tasks,
            ..McpOptions::default()
        };
        let connected = McpServer::connect(&self.settings.name, Arc::clone(&transport), options).await;
        connected.map_err(|error| McpStartError {
            is_early_end: transport.closed().is_some() && negotiation == McpNegotiation::NewestFirst,
            needs_auth: error.needs_login(),
            why: error.to_string(),
        })
    }

    /// The token for a server at this address; none if the user set one in its headers.
    fn credentials(
        &self,
        url: &str,
        headers: &[(String, Secret)],
        oauth: &McpOAuthSettings,
    ) -> Result<Option<Arc<Credentials>>, String> {
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Ok(None);
        }
        let McpLogins { store, prompter, clock } = self.config.logins.clone();
        let setup = CredentialsSetup {
            server: self.settings.name.clone(),
            url: Url::parse(url).map_err(|error| format!("its address is not valid: {error}"))?,
            settings: oauth.clone(),
            route: self.config.route.clone(),
            clock,
            store,
            prompter,
        };
        Ok(Some(Arc::clone(self.credentials.get_or_init(|| Arc::new(Credentials::new(setup))))))
    }

    /// Signs in to the server.
    async fn log_in(&self, guardian: &Guardian) -> Result<LoginOutcome, String> {
        if matches!(self.settings.address, McpAddress::Program(_)) {
            return Err("it is a program, which needs no login".into());
        }
        let tools = self.check(guardian).await?.tools.len();
        let Some(credentials) = self.credentials.get() else {
            return Err("its `headers` have `Authorization`; remove that to sign in instead".into());
        };
        match credentials.log_in().await {
            Ok(true) => Ok(LoginOutcome::SignedIn { tools }),
            Ok(false) => Ok(LoginOutcome::NotNeeded),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Tells the server that the session is over.
    async fn close(&self) {
        let state =
            std::mem::replace(&mut *self.connection.lock().await, ConnectionState::Disconnected(Failures::default()));
        if let ConnectionState::Connected(connection) = state {
            connection.server.close().await;
        }
    }
}

/// Why a server did not start.
struct McpStartError {
    why: String,
    /// Its program ended before the revision was negotiated.
    is_early_end: bool,
    /// It refused the credentials.
    needs_auth: bool,
}

impl ConnectionState {
    /// The server, if its tools were listed at most this long ago and have not changed since.
    fn listed_server(&mut self, max_age: Duration) -> Option<Arc<McpServer>> {
        self.note_loss();
        let ConnectionState::Connected(connection) = self else { return None };
        let ListedAt { time, changes } = connection.listed?;
        let is_fresh = changes == connection.server.tool_changes() && time.elapsed() <= max_age;
        is_fresh.then(|| Arc::clone(&connection.server))
    }

    /// Disconnects from a server whose connection was lost.
    fn note_loss(&mut self) {
        let ConnectionState::Connected(connection) = self else { return };
        let Some(why) = connection.server.closed() else { return };
        tracing::warn!(server = connection.server.name(), why, "the connection to an MCP server was lost");
        let count = if connection.since.elapsed() < STABLE_AFTER { connection.failures } else { 0 };
        *self = ConnectionState::Disconnected(Failures { count, pause: None }.after(&why));
    }
}

impl Failures {
    /// The state after one more failure. The first one is tried again at once.
    fn after(&self, why: &str) -> Failures {
        let count = self.count.saturating_add(1);
        let doublings = count.saturating_sub(2).min(16);
        let delay = FIRST_RESTART_DELAY.saturating_mul(1 << doublings).min(MAX_RESTART_DELAY);
        let pause = (count > 1).then(|| (why.to_owned(), Instant::now() + delay));
        Failures { count, pause }
    }
}

/// A tool of a server that the agents of a session share.
#[derive(Debug)]
struct SharedMcpTool {
    spec: ToolDescriptor,
    slot: Arc<ServerSlot>,
}

impl SharedMcpTool {
    async fn call(&self, input: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let _starting = cx.heartbeat.pause();
        if let Some(session) = &cx.session
            && let Some(answer) = session.long_calls.resume().await
        {
            return answer.map(|text| ToolOutput::text(&text, cx));
        }
        let server_name = &self.slot.settings.name;
        let refused =
            |why: String| ToolError::refused(format!("the MCP server `{server_name}` is not available: {why}"));
        let server = self.slot.refresh(&cx.guardian, Duration::MAX).await.map_err(refused)?;
        let Some(description) = self.slot.known_tool(self.spec.name.as_ref()) else {
            let name = &self.spec.name;
            return Err(ToolError::refused(format!(
                "the MCP server `{server_name}` has no tool `{name}`; search its tools with tool_search"
            )));
        };
        tool::run(server, description, input, cx).await
    }
}

impl Tool for SharedMcpTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        tool::required_permissions(input, limits)
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.call(input, cx))
    }
}
