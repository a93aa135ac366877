//! The MCP servers that a client configures. Those inside the client are reached through it; others are reported as
//! failed, so that the client does not wait for their tools.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use mcp::{McpError, McpOptions, McpResponseFuture, McpServer, McpTransport};
use protocol::SessionOptions;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tools::Tool;

use super::wire::ControlChannel;

/// Maximum number of servers of one client.
const SERVERS: usize = 64;

/// The field in which the Claude SDK expects the id of the tool call.
const CALL_ID_FIELD: &str = "claudecode/toolUseId";

/// A server that the client configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct McpServerConfig {
    name: String,
    location: McpServerLocation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum McpServerLocation {
    /// A part of the client.
    Client,
    /// A program or a URL, with the type of the server.
    External(String),
}

/// Reads the servers from `--mcp-config` and `initialize`. The error text says what is wrong.
pub(super) fn read_configs(configs: &[String], initialize: &Value) -> Result<Vec<McpServerConfig>, String> {
    let mut locations = BTreeMap::new();
    for text in configs.iter().filter(|text| !text.trim().is_empty()) {
        locations.extend(parse_config(text)?);
    }
    for name in initialize["sdkMcpServers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        locations.insert(name.to_owned(), McpServerLocation::Client);
    }
    match locations.len() <= SERVERS {
        true => Ok(locations.into_iter().map(|(name, location)| McpServerConfig { name, location }).collect()),
        false => Err(format!("{} MCP servers are configured; at most {SERVERS} are allowed", locations.len())),
    }
}

fn parse_config(text: &str) -> Result<Vec<(String, McpServerLocation)>, String> {
    let invalid = |why: &str| format!("--mcp-config is not valid: {why}");
    if !text.trim_start().starts_with('{') {
        // A file configures servers that are not part of the client.
        return Ok(vec![(text.trim().to_owned(), McpServerLocation::External("file".into()))]);
    }
    let config: Value = serde_json::from_str(text).map_err(|error| invalid(&error.to_string()))?;
    let servers = config["mcpServers"].as_object().ok_or_else(|| invalid("it has no `mcpServers`"))?;
    let location = |server: &Value| match server["type"].as_str() {
        Some("sdk") => McpServerLocation::Client,
        other => McpServerLocation::External(other.unwrap_or("stdio").to_owned()),
    };
    Ok(servers.iter().map(|(name, server)| (name.clone(), location(server))).collect())
}

/// Adds the client's permission policies for tools of its own servers.
pub(super) fn add_tool_rules(initialize: &Value, options: &mut SessionOptions) {
    for (server, config) in initialize["sdkMcpServerConfigs"].as_object().into_iter().flatten() {
        for tool in config["tools"].as_array().into_iter().flatten() {
            let Some(name) = tool["name"].as_str() else { continue };
            let rules = match tool["permission_policy"].as_str() {
                Some("always_deny") => &mut options.deny,
                Some("always_allow") | None => continue,
                Some(_asks) => &mut options.ask,
            };
            rules.push(protocol::mcp_tool_name(server, name));
        }
    }
}

/// The servers of a client, and their tools.
#[derive(Debug, Default)]
pub(super) struct ClientMcpServers {
    servers: Vec<McpServerStatus>,
}

/// The status of one server.
#[derive(Debug)]
struct McpServerStatus {
    name: String,
    connection: Result<Vec<Arc<dyn Tool>>, String>,
}

impl ClientMcpServers {
    /// Connects to all servers at once. One that fails does not affect the others.
    pub(super) async fn connect_all(control: &Arc<ControlChannel>, configs: Vec<McpServerConfig>) -> ClientMcpServers {
        let mut connecting = JoinSet::new();
        for (index, McpServerConfig { name, location }) in configs.into_iter().enumerate() {
            let control = Arc::clone(control);
            connecting.spawn(async move {
                let connection = connect_server(&name, location, control).await;
                (index, McpServerStatus { name, connection })
            });
        }
        let mut servers = connecting.join_all().await;
        servers.sort_by_key(|(index, _)| *index);
        ClientMcpServers { servers: servers.into_iter().map(|(_, status)| status).collect() }
    }

    /// The tools of all servers, each name once.
    pub(super) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut names = HashSet::new();
        let all = self.servers.iter().filter_map(|server| server.connection.as_ref().ok()).flatten();
        all.filter(|tool| names.insert(tool.spec().name.clone())).cloned().collect()
    }

    /// The names of all tools.
    pub(super) fn tool_names(&self) -> Vec<String> {
        self.tools().iter().map(|tool| tool.spec().name.to_string()).collect()
    }

    /// The names of the connected servers.
    pub(super) fn connected(&self) -> Vec<&str> {
        self.servers.iter().filter(|server| server.connection.is_ok()).map(|server| server.name.as_str()).collect()
    }

    /// The status of all servers.
    pub(super) fn status(&self) -> Vec<Value> {
        self.servers.iter().map(McpServerStatus::describe).collect()
    }
}

impl McpServerStatus {
    fn status(&self) -> &'static str {
        if self.connection.is_ok() { "connected" } else { "failed" }
    }

    fn describe(&self) -> Value {
        match &self.connection {
            Ok(tools) => {
                let prefix = protocol::mcp_tool_name(&self.name, "");
                let tool = |tool: &Arc<dyn Tool>| {
                    let name = tool.spec().name.as_ref();
                    json!({ "name": name.strip_prefix(&prefix).unwrap_or(name), "description": tool.spec().description })
                };
                let tools: Vec<Value> = tools.iter().map(tool).collect();
                json!({ "name": self.name, "status": self.status(), "tools": tools })
            }
            Err(why) => json!({ "name": self.name, "status": self.status(), "error": why }),
        }
    }
}

async fn connect_server(
    name: &str,
    location: McpServerLocation,
    control: Arc<ControlChannel>,
) -> Result<Vec<Arc<dyn Tool>>, String> {
    let transport = match location {
        McpServerLocation::Client => Arc::new(ClientMcpTransport { control, server: name.to_owned() }),
        McpServerLocation::External(kind) => {
            let why = format!("MCP servers of type `{kind}` are not supported yet; use one of the SDK's own");
            tracing::warn!(server = name, "{why}");
            return Err(why);
        }
    };
    let listing = async {
        let options = McpOptions { call_id_field: Some(CALL_ID_FIELD), ..McpOptions::default() };
        McpServer::connect(name, transport, options).await?.list_tools().await
    };
    let list = listing.await.map_err(|error: McpError| error.to_string())?;
    for why in list.rejected {
        tracing::warn!(server = name, "a tool of an MCP server is not used: {why}");
    }
    Ok(list.tools)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read_locations(config: &str, initialize: Value) -> Vec<(String, McpServerLocation)> {
        read_configs(&[config.to_owned()], &initialize)
            .unwrap()
            .into_iter()
            .map(|config| (config.name, config.location))
            .collect()
    }

    #[test]
    fn servers_are_read_from_flags_and_initialize() {
        let config =
            r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"},"db":{"command":"db"},"web":{"type":"http"}}}"#;
        let external = |kind: &str| McpServerLocation::External(kind.into());
        let expected = [("calc", McpServerLocation::Client), ("db", external("stdio")), ("web", external("http"))];
        assert_eq!(read_locations(config, json!({})), expected.map(|(name, location)| (name.to_owned(), location)));
        assert_eq!(
            read_locations("", json!({ "sdkMcpServers": ["calc", 5] })),
            [("calc".to_owned(), McpServerLocation::Client)]
        );
        assert_eq!(read_locations("servers.json", json!({})), [("servers.json".to_owned(), external("file"))]);
    }

    #[test]
    fn invalid_configs_are_errors() {
        for config in ["{", "{}", r#"{"mcpServers":[]}"#] {
            assert!(
                read_configs(&[config.to_owned()], &json!({})).unwrap_err().starts_with("--mcp-config is not"),
                "{config}"
            );
        }
        let many: Vec<String> = (0..65).map(|n| n.to_string()).collect();
        assert!(read_configs(&[], &json!({ "sdkMcpServers": many })).unwrap_err().contains("at most 64"));
    }

    #[test]
    fn tool_policies_become_rules() {
        let tools = json!([{ "name": "a", "permission_policy": "always_deny" }, { "name": "b", "permission_policy": "x" },
            { "name": "c", "permission_policy": "always_allow" }, { "name": 5 }]);
        let initialize = json!({ "sdkMcpServerConfigs": { "s": { "tools": tools } } });
        let mut options = SessionOptions::default();
        add_tool_rules(&initialize, &mut options);
        assert_eq!((options.deny, options.ask), (vec!["mcp__s__a".to_owned()], vec!["mcp__s__b".to_owned()]));
    }
}
