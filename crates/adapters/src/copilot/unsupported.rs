//! Unsupported options of a session. The client is notified with its first message, because it starts listening only
//! after the session is created.

use serde_json::Value;

use super::mcp_servers::read_servers;
use super::option_table::session_options_without_effect;
use super::system_sections::ignored_sections;

/// One line for each unsupported option.
pub(crate) fn unsupported_options(params: &Value) -> Vec<String> {
    let (_servers, mut lines) = read_servers(&params["mcpServers"]);
    for agent in params["customAgents"].as_array().into_iter().flatten() {
        let (_servers, problems) = read_servers(&agent["mcpServers"]);
        let name = agent["name"].as_str().unwrap_or_default();
        lines.extend(problems.into_iter().map(|problem| format!("the agent {name}: {problem}")));
    }
    lines.extend(session_options_without_effect(params));
    lines.extend(ignored_sections(&params["systemMessage"]));
    lines
}

/// The notice about tools that are ignored because another process runs the session.
pub(crate) fn ignored_tools(params: &Value, is_ignored: impl Fn(&str) -> bool) -> Option<String> {
    let unknown = tool_names(params).filter(|name| is_ignored(name));
    let new: Vec<&str> = unknown.collect();
    let notice = || format!("another process runs the session, which does not accept new tools: {}", new.join(", "));
    (!new.is_empty()).then(notice)
}

/// The names of a client's tools.
pub(crate) fn tool_names(params: &Value) -> impl Iterator<Item = &str> {
    params["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_unsupported_options_are_reported() {
        let lines = unsupported_options(&json!({
            "mcpServers": { "db": { "command": "db" }, "web": { "type": "ftp" } },
            "customAgents": [{ "name": "scout", "mcpServers": { "map": 7 } }, { "name": "poet" }],
            "systemMessage": { "sections": { "tone": { "action": "remove" }, "mood": { "action": "transform" } } },
        }));
        assert_eq!(
            lines,
            [
                "the MCP server web cannot be used: unknown variant `ftp`, expected one of `local`, `stdio`, `http`, \
                 `streamable-http`, `streamableHttp`, `sse`",
                "the agent scout: the MCP server map cannot be used: its configuration is not an object",
                "the system message has no section mood to transform",
            ]
        );
        assert!(unsupported_options(&json!({ "tools": [{ "name": "a" }], "mcpServers": {} })).is_empty());
        let params = json!({ "tools": [{ "name": "a" }, { "name": "b" }] });
        assert_eq!(ignored_tools(&params, |_| false), None);
        assert!(ignored_tools(&params, |name| name != "a").unwrap().ends_with(": b"));
    }
}
