//! Converts agents that a client defines into Bosun's, whose definitions know the client's field names.

use protocol::{MCP_TOOL_PREFIX, clip_middle};
use serde_json::{Map, Value};

/// Maximum bytes of all definitions, as JSON.
const SIZE: usize = 1024 * 1024;

/// Fields of a definition that have no effect here.
const IGNORED_FIELDS: [&str; 8] = [
    "memory",
    "initialPrompt",
    "autoCompactWindow",
    "omitClaudeMd",
    "observer",
    "observerMessage",
    "criticalSystemReminder_EXPERIMENTAL",
    "criticalSystemReminder",
];

/// Converts a client's agents. The error text names the invalid definition. `servers` are the
/// working MCP servers inside the client and `tools` their tools.
pub(super) fn agents_option(
    agents: &Value,
    servers: &[&str],
    tools: &[String],
) -> Result<Option<Map<String, Value>>, String> {
    let agents = match agents {
        Value::Null => return Ok(None),
        Value::Object(agents) if agents.is_empty() => return Ok(None),
        Value::Array(agents) if agents.is_empty() => return Ok(None),
        Value::Object(agents) => agents,
        _other => return Err("`agents` must be an object: a definition for each name".into()),
    };
    let mut definitions = Map::new();
    for (name, fields) in agents {
        definitions.insert(name.clone(), definition(name, fields, servers, tools)?);
    }
    let size = Value::Object(definitions.clone()).to_string().len();
    match size <= SIZE {
        true => Ok(Some(definitions)),
        false => Err(format!("`agents` has {size} bytes; at most {SIZE} are allowed")),
    }
}

fn definition(name: &str, input: &Value, servers: &[&str], tools: &[String]) -> Result<Value, String> {
    let display_name = clip_middle(name, 100);
    let mut fields =
        input.as_object().cloned().ok_or_else(|| format!("the agent `{display_name}` must be an object"))?;
    // A null field counts as absent.
    fields.retain(|_, value| !value.is_null());
    for field in ["description", "prompt"] {
        if fields.get(field).and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
            return Err(format!("the agent `{display_name}` has no {field}: add one, as a string"));
        }
    }
    for field in IGNORED_FIELDS {
        if fields.remove(field).is_some() {
            tracing::warn!(agent = %display_name, field, "ignoring an unsupported field of an agent");
        }
    }
    if fields.get("effort").is_some_and(Value::is_number) {
        tracing::warn!(agent = %display_name, "a numeric effort is not supported; the session's effort is used");
        fields.remove("effort");
    }
    if let Some(Value::Array(list)) = fields.get_mut("tools") {
        *list = list.iter().flat_map(|tool| expand_server_tools(tool, tools)).collect();
    }
    if let Some(Value::Array(list)) = fields.get_mut("disallowedTools") {
        *list = list.iter().flat_map(|tool| expand_server_tools(&denied_pattern(tool), tools)).collect();
    }
    if let Some(Value::Array(wanted)) = fields.get_mut("mcpServers") {
        wanted.iter_mut().for_each(keep_external);
        wanted.retain(|server| match server {
            Value::String(name) => !servers.contains(&name.as_str()),
            Value::Object(servers) => !servers.is_empty(),
            _other => true,
        });
        if wanted.is_empty() {
            fields.remove("mcpServers");
        }
    }
    Ok(Value::Object(fields))
}

/// Leaves out servers inside the client, which belong among those of the session, and what is not a server's own.
fn keep_external(servers: &mut Value) {
    let Value::Object(servers) = servers else { return };
    servers.retain(|_name, server| server["type"] != "sdk");
    for server in servers.values_mut().filter_map(Value::as_object_mut) {
        server
            .retain(|key, value| key != "tools" || value.as_array().is_some_and(|it| it.iter().all(Value::is_string)));
    }
}

/// A pattern for a denied tool that matches its normalized name too: a denial must not be lost over special characters.
fn denied_pattern(tool: &Value) -> Value {
    match tool.as_str().filter(|name| name.starts_with("mcp__")) {
        Some(name) if server_prefix(name).is_none() => protocol::mcp_name_pattern(name).into(),
        Some(name) if !name.ends_with('*') => protocol::mcp_name_pattern(&format!("{name}__*")).into(),
        Some(name) => protocol::mcp_name_pattern(name).into(),
        None => tool.clone(),
    }
}

/// Returns one entry of a tool list, or all tools of a server if the entry names a server.
fn expand_server_tools(tool: &Value, tools: &[String]) -> Vec<Value> {
    let Some(prefix) = tool.as_str().filter(|name| name.starts_with("mcp__")).map(server_prefix) else {
        return vec![tool.clone()];
    };
    let Some(prefix) = prefix else { return vec![tool.clone()] };
    let of_client = tools.iter().filter(|tool| tool.starts_with(&prefix)).map(|tool| tool.clone().into());
    let mut expanded: Vec<Value> = of_client.collect();
    // Servers outside the client may be meant, too.
    if expanded.is_empty() || prefix == MCP_TOOL_PREFIX {
        expanded.push(tool.clone());
    }
    expanded
}

/// The common prefix of a server's tools, if a name stands for all of them.
fn server_prefix(name: &str) -> Option<String> {
    if let Some(prefix) = name.strip_suffix('*') {
        return Some(prefix.to_owned());
    }
    let server = name.strip_prefix("mcp__")?;
    (!server.contains("__")).then(|| format!("{name}__"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_agents_option(agents: Value) -> Result<Value, String> {
        let tools = ["mcp__calc__add", "mcp__calc__sub", "mcp__db__query"].map(str::to_owned);
        Ok(Value::Object(agents_option(&agents, &["calc"], &tools)?.unwrap()))
    }

    #[test]
    fn definitions_are_kept_without_unsupported_fields() {
        let given = json!({ "description": "Counts.", "prompt": "Count.", "tools": ["Read", "mcp__calc", "mcp__db__query"],
            "disallowedTools": ["mcp__*"], "model": "inherit", "maxTurns": 3, "background": true, "effort": 42,
            "memory": "user", "skills": null, "permissionMode": "plan", "mcpServers": ["calc"] });
        let expected = json!({ "description": "Counts.", "prompt": "Count.",
            "tools": ["Read", "mcp__calc__add", "mcp__calc__sub", "mcp__db__query"],
            "disallowedTools": ["mcp__calc__add", "mcp__calc__sub", "mcp__db__query", "mcp__*"],
            "model": "inherit", "maxTurns": 3, "background": true, "permissionMode": "plan" });
        assert_eq!(parse_agents_option(json!({ "counter": given })).unwrap(), json!({ "counter": expected }));
    }

    #[test]
    fn denied_tools_match_by_full_name() {
        let (server, tool) = ("my.server", "a-tool-with-a-name-that-no-provider-would-take-in-full-length");
        let known = [protocol::mcp_tool_name(server, tool), protocol::mcp_tool_name(server, "b")];
        let denied = |name: String| {
            let given = json!({ "description": "x", "prompt": "x", "disallowedTools": [name] });
            let agents = agents_option(&json!({ "a": given }), &[server], &known).unwrap().unwrap();
            agents["a"]["disallowedTools"].clone()
        };
        assert_eq!(denied(format!("mcp__{server}__{tool}")), json!([known[0]]));
        assert_eq!(denied(format!("mcp__{server}__b")), json!([known[1]]));
        assert_eq!(denied(format!("mcp__{server}")), json!(known));
    }

    #[test]
    fn invalid_definitions_are_errors_that_name_the_agent() {
        for (agents, why) in [
            (json!([5]), "`agents` must be an object: a definition for each name"),
            (json!({ "a": 5 }), "the agent `a` must be an object"),
            (json!({ "a": { "prompt": "x" } }), "the agent `a` has no description: add one, as a string"),
            (
                json!({ "a": { "description": "x", "prompt": " " } }),
                "the agent `a` has no prompt: add one, as a string",
            ),
        ] {
            assert_eq!(parse_agents_option(agents).unwrap_err(), why);
        }
        let long = json!({ "a": { "description": "x", "prompt": "x".repeat(SIZE) } });
        assert!(parse_agents_option(long).unwrap_err().contains("at most 1048576"));
        assert_eq!(agents_option(&Value::Null, &[], &[]), Ok(None));
    }
}
