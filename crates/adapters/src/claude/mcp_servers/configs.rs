//! The servers that a client configures, as flags and `initialize` have them.

use std::collections::BTreeMap;

use protocol::{ForeignMcpServer, McpServerSpec, SessionOptions};
use serde_json::{Map, Value};

/// Maximum number of servers of one client.
const SERVERS: usize = 64;

/// The servers that a client configures.
#[derive(Debug, Default, PartialEq)]
pub(in crate::claude) struct ClientServerConfigs {
    /// The names of those that are parts of the client.
    pub(super) in_process: Vec<String>,
    /// Programs and URLs.
    pub(super) external: BTreeMap<String, McpServerSpec>,
    /// Files with more of them.
    files: Vec<String>,
    /// Why others cannot be used, by name.
    pub(super) invalid: BTreeMap<String, String>,
    /// The client's policies for tools of programs and URLs.
    policies: Vec<ToolPolicy>,
}

/// A client's policy for a tool.
#[derive(Debug, PartialEq)]
struct ToolPolicy {
    /// The name by which rules know the tool.
    tool: String,
    is_denied: bool,
}

impl ClientServerConfigs {
    /// Reads the servers from `--mcp-config` and `initialize`. The error text says what is wrong.
    pub(in crate::claude) fn read(configs: &[String], initialize: &Value) -> Result<ClientServerConfigs, String> {
        let mut read = ClientServerConfigs::default();
        for text in configs.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
            match text.starts_with('{') {
                true => read.add_text(text)?,
                false => read.files.push(text.to_owned()),
            }
        }
        if let Some(servers) = initialize["mcpServers"].as_object() {
            read.add(servers);
        }
        for name in initialize["sdkMcpServers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            read.add_in_process(name);
        }
        let count = read.in_process.len() + read.external.len() + read.invalid.len();
        match count <= SERVERS {
            true => Ok(read),
            false => Err(format!("{count} MCP servers are configured; at most {SERVERS} are allowed")),
        }
    }

    /// The servers of an object that has them by name.
    pub(super) fn of(servers: &Map<String, Value>) -> ClientServerConfigs {
        let mut read = ClientServerConfigs::default();
        read.add(servers);
        read
    }

    /// Makes the programs and URLs servers of the session.
    pub(in crate::claude) fn apply(&self, options: &mut SessionOptions) {
        options.mcp_servers.extend(self.external.clone());
        options.mcp_sources.extend(self.files.iter().cloned());
        for policy in &self.policies {
            let rules = if policy.is_denied { &mut options.deny } else { &mut options.ask };
            rules.push(policy.tool.clone());
        }
    }

    fn add_text(&mut self, text: &str) -> Result<(), String> {
        let invalid = |why: &str| format!("--mcp-config is not valid: {why}");
        let config: Value = serde_json::from_str(text).map_err(|error| invalid(&error.to_string()))?;
        let servers = config["mcpServers"].as_object().ok_or_else(|| invalid("it has no `mcpServers`"))?;
        self.add(servers);
        Ok(())
    }

    fn add(&mut self, servers: &Map<String, Value>) {
        for (name, server) in servers {
            if server["type"] == "sdk" {
                self.add_in_process(name);
                continue;
            }
            match read_server(server) {
                Ok(spec) => drop(self.external.insert(name.clone(), spec)),
                Err(why) => drop(self.invalid.insert(name.clone(), why)),
            }
            self.policies.extend(tool_policies(name, &server["tools"]));
        }
    }

    fn add_in_process(&mut self, name: &str) {
        if !self.in_process.iter().any(|known| known == name) {
            self.in_process.push(name.to_owned());
        }
    }
}

/// Reads a program or a URL. A list of policies is not a list of tools.
fn read_server(server: &Value) -> Result<McpServerSpec, String> {
    let mut fields = server.as_object().cloned().ok_or("its configuration is not an object")?;
    fields.retain(|key, value| key != "tools" || !is_policy_list(value));
    let ForeignMcpServer { server, unused_keys } =
        ForeignMcpServer::read(fields).map_err(|error| format!("its configuration is not valid: {error}"))?;
    if !unused_keys.is_empty() {
        tracing::debug!(keys = unused_keys.join(", "), "keys of an MCP server have no effect");
    }
    Ok(server)
}

fn is_policy_list(tools: &Value) -> bool {
    tools.as_array().is_some_and(|tools| tools.iter().any(Value::is_object))
}

fn tool_policies(server: &str, tools: &Value) -> impl Iterator<Item = ToolPolicy> {
    let policy = |tool: &Value| {
        let is_denied = match tool["permission_policy"].as_str()? {
            "always_deny" => true,
            "always_allow" => return None,
            _asks => false,
        };
        Some(ToolPolicy { tool: protocol::mcp_tool_name(server, tool["name"].as_str()?), is_denied })
    };
    tools.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(policy).collect::<Vec<_>>().into_iter()
}

/// Adds the client's permission policies for tools of the servers inside it.
pub(in crate::claude) fn add_tool_rules(initialize: &Value, options: &mut SessionOptions) {
    for (server, config) in initialize["sdkMcpServerConfigs"].as_object().into_iter().flatten() {
        for ToolPolicy { tool, is_denied } in tool_policies(server, &config["tools"]) {
            let rules = if is_denied { &mut options.deny } else { &mut options.ask };
            rules.push(tool);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_are_read_from_flags_and_initialize() {
        let config = r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"},"db":{"command":"db","timeout":5000},
            "web":{"type":"http","url":"http://a","tools":[{"name":"rm","permission_policy":"always_deny"}]},
            "bad":{"command":7}}}"#;
        let initialize = json!({ "sdkMcpServers": ["calc", 5], "mcpServers": { "more": { "command": "more" } } });
        let read = ClientServerConfigs::read(&[config.into(), " ".into(), "servers.json".into()], &initialize).unwrap();
        assert_eq!(read.in_process, ["calc"]);
        assert_eq!(read.external.keys().collect::<Vec<_>>(), ["db", "more", "web"]);
        assert!(read.invalid["bad"].contains("invalid type"), "{:?}", read.invalid);
        let mut options = SessionOptions::default();
        read.apply(&mut options);
        assert_eq!(options.mcp_sources, ["servers.json"]);
        assert_eq!(options.mcp_servers["web"].tools, None);
        assert_eq!(options.deny, ["mcp__web__rm"]);
    }

    #[test]
    fn invalid_configs_are_errors() {
        for config in ["{", "{}", r#"{"mcpServers":[]}"#] {
            let error = ClientServerConfigs::read(&[config.to_owned()], &json!({})).unwrap_err();
            assert!(error.starts_with("--mcp-config is not"), "{config}");
        }
        let many: Vec<String> = (0..65).map(|n| n.to_string()).collect();
        let error = ClientServerConfigs::read(&[], &json!({ "sdkMcpServers": many })).unwrap_err();
        assert!(error.contains("at most 64"));
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
