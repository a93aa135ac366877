//! The MCP servers that a client configures: those of the session, and those of its agents.

use std::collections::BTreeMap;

use protocol::{ForeignMcpServer, McpServerSpec, mcp_tool_name};
use serde_json::{Map, Value};

use super::tool_filter::ToolFilter;

/// The servers of an object that has them by name, and why others cannot be used.
pub(crate) fn read_servers(servers: &Value) -> (BTreeMap<String, McpServerSpec>, Vec<String>) {
    let (mut read, mut problems) = (BTreeMap::new(), Vec::new());
    for (name, server) in servers.as_object().into_iter().flatten() {
        match read_server(server) {
            Ok(spec) => drop(read.insert(name.clone(), spec)),
            Err(why) => problems.push(format!("the MCP server {name} cannot be used: {why}")),
        }
    }
    (read, problems)
}

/// Reads a server as clients write it.
pub(crate) fn read_server(server: &Value) -> Result<McpServerSpec, String> {
    let fields = server.as_object().cloned().ok_or("its configuration is not an object")?;
    ForeignMcpServer::read(fields).map(|read| read.server).map_err(|error| error.to_string())
}

/// The servers of an agent, without those that cannot be read.
pub(crate) fn agent_servers(servers: &Value) -> Option<Value> {
    let usable: Map<String, Value> = servers
        .as_object()?
        .iter()
        .filter(|(_, server)| read_server(server).is_ok())
        .map(|(name, server)| (name.clone(), server.clone()))
        .collect();
    (!usable.is_empty()).then_some(Value::Object(usable))
}

/// Leaves a server only the tools that a client makes available.
pub(crate) fn restrict_tools(name: &str, server: &mut McpServerSpec, available: &ToolFilter) {
    if available.has_all_mcp() {
        return;
    }
    let prefix = format!("{name}-");
    let wanted: Vec<String> =
        available.mcp_names().filter_map(|tool| tool.strip_prefix(&prefix)).map(str::to_owned).collect();
    if wanted.iter().any(|tool| tool == "*") {
        return;
    }
    let is_listed =
        |tool: &String| server.tools.as_ref().is_none_or(|tools| tools.iter().any(|it| it == tool || it == "*"));
    server.tools = Some(wanted.into_iter().filter(is_listed).collect());
}

/// The rules that deny the tools of servers which a client excludes. Clients join the names of a server and its tool
/// with a dash, which either name may contain.
pub(crate) fn denied_tools(excluded: &ToolFilter) -> Vec<String> {
    if excluded.has_all_mcp() {
        return vec!["mcp__*".into()];
    }
    let splits = |name: &str| {
        let at_dash = |(at, _dash): (usize, &str)| {
            let (server, tool) = (&name[..at], &name[at + 1..]);
            match tool {
                "*" => format!("{}*", mcp_tool_name(server, "")),
                tool => mcp_tool_name(server, tool),
            }
        };
        name.match_indices('-').map(at_dash).collect::<Vec<_>>()
    };
    excluded.mcp_names().flat_map(splits).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_are_read_and_problems_name_them() {
        let servers = json!({
            "db": { "type": "local", "command": "db", "args": [], "tools": ["*"], "timeout": 2000, "cwd": "/w" },
            "web": { "type": "http", "url": "https://a/mcp", "headers": { "A": "b" } },
            "bad": { "command": 1 }, "worse": 7,
        });
        let (read, problems) = read_servers(&servers);
        assert_eq!(read.keys().collect::<Vec<_>>(), ["db", "web"]);
        assert_eq!(problems.len(), 2);
        assert!(problems[0].starts_with("the MCP server bad cannot be used: invalid type"), "{problems:?}");
        assert_eq!(agent_servers(&servers).unwrap().as_object().unwrap().len(), 2);
        assert_eq!(agent_servers(&json!({ "bad": 1 })), None);
    }

    #[test]
    fn filters_apply_to_tools_of_servers() {
        let filter = |names: Value| ToolFilter::parse(&names);
        let tools = |names: Value, listed: Option<Vec<String>>| {
            let mut server = McpServerSpec { tools: listed, ..McpServerSpec::default() };
            restrict_tools("db", &mut server, &filter(names));
            server.tools
        };
        assert_eq!(tools(json!(["mcp:db-query", "view"]), None), Some(vec!["query".to_owned()]));
        assert_eq!(tools(json!(["mcp:db-query"]), Some(vec!["list".into()])), Some(Vec::new()));
        assert_eq!(tools(json!(["mcp:*"]), None), None);
        assert_eq!(tools(json!(["mcp:db-*"]), None), None);
        assert_eq!(denied_tools(&filter(json!(["mcp:db-query"]))), ["mcp__db__query"]);
        assert_eq!(denied_tools(&filter(json!(["my-db-query"]))), ["mcp__my__db-query", "mcp__my-db__query"]);
        assert_eq!(denied_tools(&filter(json!(["mcp:*"]))), ["mcp__*"]);
        assert!(denied_tools(&filter(json!(["bash", "builtin:web-fetch"]))).is_empty());
    }
}
