//! The servers inside the client, which are reached through it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp::{McpError, McpOptions, McpResponseFuture, McpServer, McpTransport};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tools::{BoxFuture, RequiredPermission, Tool, ToolContext, ToolDescriptor, ToolError, ToolLimits, ToolOutput};

use super::ClientServerConfigs;
use super::status::{self, ServerStatus};
use crate::claude::wire::ControlChannel;

/// The field in which the Claude SDK expects the id of the tool call.
const CALL_ID_FIELD: &str = "claudecode/toolUseId";

/// The servers inside a client with their tools, and why other servers of the client cannot be used.
#[derive(Debug, Default)]
pub(in crate::claude) struct InProcessServers {
    servers: Vec<InProcessServer>,
}

/// One server.
#[derive(Debug)]
struct InProcessServer {
    name: String,
    connection: Result<ConnectedServer, String>,
    is_enabled: Arc<AtomicBool>,
    is_part_of_client: bool,
}

#[derive(Debug)]
struct ConnectedServer {
    server: Arc<McpServer>,
    tools: Vec<Arc<dyn Tool>>,
}

impl InProcessServers {
    /// Connects to all servers at once. One that fails does not affect the others.
    pub(in crate::claude) async fn connect_all(
        control: &Arc<ControlChannel>,
        configs: &ClientServerConfigs,
    ) -> InProcessServers {
        let mut connecting = JoinSet::new();
        for (index, name) in configs.in_process.iter().cloned().enumerate() {
            let control = Arc::clone(control);
            connecting.spawn(async move { (index, InProcessServer::connect(name, control).await) });
        }
        let mut servers = connecting.join_all().await;
        servers.sort_by_key(|(index, _)| *index);
        let invalid = configs.invalid.iter().map(|(name, why)| InProcessServer {
            name: name.clone(),
            connection: Err(why.clone()),
            is_enabled: Arc::new(AtomicBool::new(true)),
            is_part_of_client: false,
        });
        InProcessServers { servers: servers.into_iter().map(|(_, server)| server).chain(invalid).collect() }
    }

    /// The tools of all servers, each name once.
    pub(in crate::claude) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut names = HashSet::new();
        let all = self.servers.iter().filter_map(|server| server.connection.as_ref().ok()).flat_map(|it| &it.tools);
        all.filter(|tool| names.insert(tool.spec().name.clone())).cloned().collect()
    }

    /// The names of all tools.
    pub(in crate::claude) fn tool_names(&self) -> Vec<String> {
        self.tools().iter().map(|tool| tool.spec().name.to_string()).collect()
    }

    /// The names of the connected servers.
    pub(in crate::claude) fn connected(&self) -> Vec<&str> {
        self.servers.iter().filter(|server| server.connection.is_ok()).map(|server| server.name.as_str()).collect()
    }

    /// The status of all servers.
    pub(super) fn status(&self) -> impl Iterator<Item = Value> {
        self.servers.iter().map(InProcessServer::describe)
    }

    /// Switches a server on or off; `false` if there is none with this name.
    pub(super) fn set_enabled(&self, name: &str, enabled: bool) -> bool {
        let server = self.servers.iter().find(|server| server.name == name);
        server.is_some_and(|server| {
            server.is_enabled.store(enabled, Ordering::Relaxed);
            true
        })
    }

    /// Whether a server can be used; `None` if there is none with this name.
    pub(super) fn usable(&self, name: &str) -> Option<Result<(), String>> {
        let server = self.servers.iter().find(|server| server.name == name)?;
        let connection = server.connection.as_ref().map(|_connected| ()).map_err(Clone::clone);
        Some(connection.and_then(|()| match server.is_enabled() {
            true => Ok(()),
            false => Err(format!("the MCP server `{name}` is disabled")),
        }))
    }

    /// Switches off the servers that a client leaves out, and on those that it names again. Returns the names of those
    /// that were switched on, of those that were switched off, and of those that are unknown.
    pub(super) fn keep_only(&self, wanted: &[String]) -> [Vec<String>; 3] {
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        for server in self.servers.iter().filter(|server| server.is_part_of_client) {
            let is_wanted = wanted.contains(&server.name);
            match (server.is_enabled.swap(is_wanted, Ordering::Relaxed), is_wanted) {
                (false, true) => added.push(server.name.clone()),
                (true, false) => removed.push(server.name.clone()),
                (true, true) | (false, false) => {}
            }
        }
        let is_known = |name: &&String| self.servers.iter().any(|server| server.name == **name);
        let unknown = wanted.iter().filter(|name| !is_known(name)).cloned().collect();
        [added, removed, unknown]
    }
}

impl InProcessServer {
    async fn connect(name: String, control: Arc<ControlChannel>) -> InProcessServer {
        let is_enabled = Arc::new(AtomicBool::new(true));
        let connection = connect(&name, control, &is_enabled).await;
        InProcessServer { name, connection, is_enabled, is_part_of_client: true }
    }

    fn is_enabled(&self) -> bool {
        self.is_enabled.load(Ordering::Relaxed)
    }

    fn describe(&self) -> Value {
        let status = match &self.connection {
            _any if !self.is_enabled() => ServerStatus::Disabled,
            Ok(_connected) => ServerStatus::Connected,
            Err(_why) => ServerStatus::Failed,
        };
        let scope = if self.is_part_of_client { "sdk" } else { "dynamic" };
        let mut view = json!({ "name": self.name, "status": status.as_str(), "scope": "dynamic", "source": scope });
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

async fn connect(
    name: &str,
    control: Arc<ControlChannel>,
    is_enabled: &Arc<AtomicBool>,
) -> Result<ConnectedServer, String> {
    let transport = Arc::new(ClientMcpTransport { control, server: name.to_owned() });
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
