//! The servers inside the client, which are reached through it.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use futures_util::future::join_all;
use host::Guardian;
use mcp::{McpError, McpOptions, McpResponseFuture, McpServer, McpTransport};
use serde_json::{Value, json};
use tools::{
    BoxFuture, CatalogListing, RemoteTasks, RequiredPermission, Tool, ToolCatalog, ToolContext, ToolDescriptor,
    ToolError, ToolLimits, ToolOutput,
};

use super::ClientServerConfigs;
use super::status::{self, ServerStatus};
use crate::claude::wire::ControlChannel;

/// The field in which the Claude SDK expects the id of the tool call.
const CALL_ID_FIELD: &str = "claudecode/toolUseId";

/// Maximum number of servers of one client.
const MAX_SERVERS: usize = 64;

/// The servers inside a client with their tools, and why other servers of the client cannot be used. As a catalogue, it
/// has those that the client added while its session runs: the others have their tools in every request.
#[derive(Debug, Default)]
pub(in crate::claude) struct InProcessServers {
    servers: RwLock<Vec<Arc<InProcessServer>>>,
}

/// One server.
#[derive(Debug)]
struct InProcessServer {
    name: String,
    connection: Result<ConnectedServer, String>,
    is_enabled: Arc<AtomicBool>,
    origin: ServerOrigin,
}

/// Where a server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerOrigin {
    /// It is part of the client, which named it when its session started.
    Start,
    /// It is part of the client, which named it later.
    Added,
    /// It is not part of the client, and cannot be used.
    Outside,
}

#[derive(Debug)]
struct ConnectedServer {
    server: Arc<McpServer>,
    tools: Vec<Arc<dyn Tool>>,
}

/// What a change of the servers inside a client did.
#[derive(Debug, Default)]
pub(super) struct InProcessChange {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
    /// Why some cannot be used.
    pub(super) errors: BTreeMap<String, String>,
}

impl InProcessServers {
    /// Connects to all servers at once. One that fails does not affect the others.
    pub(in crate::claude) async fn connect_all(
        control: &Arc<ControlChannel>,
        configs: &ClientServerConfigs,
    ) -> InProcessServers {
        let connecting = configs.in_process.iter().map(|name| connect(name, control, ServerOrigin::Start));
        let mut servers = join_all(connecting).await;
        servers.extend(configs.invalid.iter().map(|(name, why)| InProcessServer {
            name: name.clone(),
            connection: Err(why.clone()),
            is_enabled: Arc::new(AtomicBool::new(true)),
            origin: ServerOrigin::Outside,
        }));
        InProcessServers { servers: RwLock::new(servers.into_iter().map(Arc::new).collect()) }
    }

    /// The tools of the servers that the client named at the start, each name once.
    pub(in crate::claude) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        tools_of(&self.servers_of(ServerOrigin::Start))
    }

    /// The names of all tools.
    pub(in crate::claude) fn tool_names(&self) -> Vec<String> {
        tools_of(&self.servers()).iter().map(|tool| tool.spec().name.to_string()).collect()
    }

    /// The server that has a tool, and the tool's name there. Models know it by `name`.
    pub(in crate::claude) fn find_tool(&self, name: &str) -> Option<(String, String)> {
        self.servers().iter().find_map(|server| {
            let tools = &server.connection.as_ref().ok()?.tools;
            let tool = tools.iter().find(|tool| tool.spec().name == name)?;
            let prefix = protocol::mcp_tool_name(&server.name, "");
            Some((server.name.clone(), tool.spec().name.strip_prefix(&prefix)?.to_owned()))
        })
    }

    /// The names of the connected servers.
    pub(in crate::claude) fn connected(&self) -> Vec<String> {
        let connected = self.servers().into_iter().filter(|server| server.connection.is_ok());
        connected.map(|server| server.name.clone()).collect()
    }

    /// The status of all servers.
    pub(super) fn status(&self) -> Vec<Value> {
        self.servers().iter().map(|server| server.describe()).collect()
    }

    /// Switches a server on or off; `false` if there is none with this name.
    pub(super) fn set_enabled(&self, name: &str, enabled: bool) -> bool {
        let server = self.find(name);
        server.is_some_and(|server| {
            server.is_enabled.store(enabled, Ordering::Relaxed);
            true
        })
    }

    /// Whether a server can be used; `None` if there is none with this name.
    pub(super) fn usable(&self, name: &str) -> Option<Result<(), String>> {
        let server = self.find(name)?;
        let connection = server.connection.as_ref().map(|_connected| ()).map_err(Clone::clone);
        Some(connection.and_then(|()| match server.is_enabled() {
            true => Ok(()),
            false => Err(format!("the MCP server `{name}` is disabled")),
        }))
    }

    /// Makes these the client's servers: connects to those that are new, and switches off those that are left out. One
    /// of the start is switched on when it is named again.
    pub(super) async fn set(&self, control: &Arc<ControlChannel>, wanted: &[String]) -> InProcessChange {
        let mut change = InProcessChange::default();
        for server in self.servers().iter().filter(|server| server.origin != ServerOrigin::Outside) {
            let is_wanted = wanted.contains(&server.name);
            match (server.is_enabled.swap(is_wanted, Ordering::Relaxed), is_wanted) {
                (false, true) => change.added.push(server.name.clone()),
                (true, false) => change.removed.push(server.name.clone()),
                (true, true) | (false, false) => {}
            }
        }
        // One that the client adds again may be another one.
        self.servers_mut().retain(|server| server.origin != ServerOrigin::Added || server.is_enabled());
        let room = MAX_SERVERS.saturating_sub(self.servers().len());
        let new: Vec<&String> = wanted.iter().filter(|name| self.find(name).is_none()).collect();
        let (new, excess) = new.split_at(new.len().min(room));
        let added = join_all(new.iter().map(|name| connect(name, control, ServerOrigin::Added))).await;
        for server in &added {
            match &server.connection {
                Ok(_connected) => change.added.push(server.name.clone()),
                Err(why) => drop(change.errors.insert(server.name.clone(), why.clone())),
            }
        }
        self.servers_mut().extend(added.into_iter().map(Arc::new));
        let refused = || format!("a client has at most {MAX_SERVERS} MCP servers");
        change.errors.extend(excess.iter().map(|name| ((*name).clone(), refused())));
        change
    }

    fn find(&self, name: &str) -> Option<Arc<InProcessServer>> {
        self.servers().into_iter().find(|server| server.name == name)
    }

    fn servers(&self) -> Vec<Arc<InProcessServer>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn servers_of(&self, origin: ServerOrigin) -> Vec<Arc<InProcessServer>> {
        self.servers().into_iter().filter(|server| server.origin == origin).collect()
    }

    fn servers_mut(&self) -> RwLockWriteGuard<'_, Vec<Arc<InProcessServer>>> {
        self.servers.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The servers that were added and may be used now.
    fn usable_added(&self) -> Vec<Arc<InProcessServer>> {
        let added = self.servers_of(ServerOrigin::Added).into_iter();
        added.filter(|server| server.is_enabled() && server.connection.is_ok()).collect()
    }
}

impl ToolCatalog for InProcessServers {
    fn for_agent(self: Arc<Self>, _definition: &str) -> Arc<dyn ToolCatalog> {
        self
    }

    fn sources(&self) -> Vec<String> {
        self.usable_added().iter().map(|server| server.name.clone()).collect()
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        tools_of(&self.usable_added()).into_iter().find(|tool| tool.spec().name == name)
    }

    fn list<'a>(&'a self, _query: &'a str, _guardian: &'a Guardian) -> BoxFuture<'a, CatalogListing> {
        let tools = tools_of(&self.usable_added()).iter().map(|tool| tool.spec().clone()).collect();
        Box::pin(std::future::ready(CatalogListing { tools, problems: Vec::new() }))
    }

    /// The servers inside a client do no tasks.
    fn remote_tasks(&self) -> Option<&dyn RemoteTasks> {
        None
    }
}

/// The tools of servers, each name once.
fn tools_of(servers: &[Arc<InProcessServer>]) -> Vec<Arc<dyn Tool>> {
    let mut names = HashSet::new();
    let all = servers.iter().filter_map(|server| server.connection.as_ref().ok()).flat_map(|it| &it.tools);
    all.filter(|tool| names.insert(tool.spec().name.clone())).cloned().collect()
}

impl InProcessServer {
    fn is_enabled(&self) -> bool {
        self.is_enabled.load(Ordering::Relaxed)
    }

    fn describe(&self) -> Value {
        let status = match &self.connection {
            _any if !self.is_enabled() => ServerStatus::Disabled,
            Ok(_connected) => ServerStatus::Connected,
            Err(_why) => ServerStatus::Failed,
        };
        let source = if self.origin == ServerOrigin::Outside { "dynamic" } else { "sdk" };
        let mut view = json!({ "name": self.name, "status": status.as_str(), "scope": "dynamic", "source": source });
        match &self.connection {
            Ok(ConnectedServer { server, tools }) => {
                let prefix = protocol::mcp_tool_name(&self.name, "");
                let tool = |tool: &Arc<dyn Tool>| {
                    let name = tool.spec().name.as_ref();
                    status::tool(name.strip_prefix(&prefix).unwrap_or(name), &tool.spec().description)
                };
                view["tools"] = tools.iter().map(tool).collect();
                if let Some(identity) = server.identity() {
                    view["serverInfo"] = json!(identity);
                }
            }
            Err(why) => view["error"] = why.as_str().into(),
        }
        view
    }
}

async fn connect(name: &str, control: &Arc<ControlChannel>, origin: ServerOrigin) -> InProcessServer {
    let is_enabled = Arc::new(AtomicBool::new(true));
    let connection = connection(name, control, &is_enabled).await;
    InProcessServer { name: name.to_owned(), connection, is_enabled, origin }
}

async fn connection(
    name: &str,
    control: &Arc<ControlChannel>,
    is_enabled: &Arc<AtomicBool>,
) -> Result<ConnectedServer, String> {
    let transport = Arc::new(ClientMcpTransport { control: Arc::clone(control), server: name.to_owned() });
    let options = McpOptions { call_id_field: Some(CALL_ID_FIELD), ..McpOptions::default() };
    let text = |error: McpError| error.to_string();
    let server = McpServer::connect(name, transport, options).await.map_err(text)?;
    let list = server.list_tools().await.map_err(text)?;
    for why in list.rejected {
        tracing::warn!(server = name, "a tool of an MCP server is not used: {why}");
    }
    let switchable = |tool| {
        let (server, is_enabled) = (name.to_owned(), Arc::clone(is_enabled));
        Arc::new(SwitchableTool { tool, server, is_enabled }) as Arc<dyn Tool>
    };
    Ok(ConnectedServer { server, tools: list.tools.into_iter().map(switchable).collect() })
}

/// A tool of a server that the client can switch off.
#[derive(Debug)]
struct SwitchableTool {
    tool: Arc<dyn Tool>,
    server: String,
    is_enabled: Arc<AtomicBool>,
}

impl Tool for SwitchableTool {
    fn spec(&self) -> &ToolDescriptor {
        self.tool.spec()
    }

    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        self.tool.required_permissions(input, limits)
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match self.is_enabled.load(Ordering::Relaxed) {
            true => self.tool.run(input, cx),
            false => {
                let text = format!("the MCP server `{}` is disabled", self.server);
                Box::pin(std::future::ready(Err(ToolError::refused(text))))
            }
        }
    }
}

/// The transport to a server that is part of the client.
#[derive(Debug)]
struct ClientMcpTransport {
    control: Arc<ControlChannel>,
    server: String,
}

impl McpTransport for ClientMcpTransport {
    fn send(&self, message: Value) -> McpResponseFuture<'_> {
        Box::pin(async move {
            let request = json!({ "subtype": "mcp_message", "server_name": self.server, "message": message });
            let mut answer = self.control.request(request).await?;
            // The client may answer with anything, object or not.
            Ok(answer.get_mut("mcp_response").map(Value::take).unwrap_or_default())
        })
    }
}
