//! What a client asks for with a session and does not get. It is told with its first message: whoever makes a session
//! begins to listen only after it is there.

use serde_json::{Map, Value};

/// One line for everything that is left out, in the order in which clients read it.
pub(crate) fn unsupported_options(params: &Value) -> Vec<String> {
    let servers = names(&params["mcpServers"]);
    let mut told = Vec::new();
    if !servers.is_empty() {
        told.push(format!("MCP servers are not started, and their tools are not there: {}", servers.join(", ")));
    }
    for agent in params["customAgents"].as_array().into_iter().flatten() {
        let (name, servers) = (agent["name"].as_str().unwrap_or_default(), names(&agent["mcpServers"]));
        if !servers.is_empty() {
            told.push(format!("MCP servers of the agent {name} are not started: {}", servers.join(", ")));
        }
    }
    let lists = ["providers", "skillDirectories", "instructionDirectories"];
    let given = lists.into_iter().filter(|name| params[*name].as_array().is_some_and(|list| !list.is_empty()));
    told.extend(given.map(|name| format!("`{name}` is not served and changes nothing")));
    let sections = params["systemMessage"]["sections"].as_object().into_iter().flatten();
    let kept = sections.filter(|(_, section)| matches!(section["action"].as_str(), Some("remove" | "transform")));
    told.extend(kept.map(|(name, _)| format!("the section {name} of the system message stays as it is")));
    told
}

/// What is said of tools that a session does not get, since it is under way with those that it has.
pub(crate) fn ignored_tools(params: &Value, has: impl Fn(&str) -> bool) -> Option<String> {
    let given = tool_names(params).filter(|name| !has(name));
    let new: Vec<&str> = given.collect();
    let told = || format!("the session is under way and does not get new tools: {}", new.join(", "));
    (!new.is_empty()).then(told)
}

/// The names of a client's tools.
pub(crate) fn tool_names(params: &Value) -> impl Iterator<Item = &str> {
    params["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str())
}

fn names(servers: &Value) -> Vec<&str> {
    servers.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_out_is_told_and_nothing_else() {
        let told = unsupported_options(&json!({
            "mcpServers": { "db": { "command": "db" }, "web": { "type": "http" } },
            "customAgents": [{ "name": "scout", "mcpServers": { "map": {} } }, { "name": "poet" }],
            "providers": [{ "name": "mine" }],
            "skillDirectories": [],
            "systemMessage": { "sections": { "tone": { "action": "remove" }, "safety": { "action": "append" } } },
        }));
        assert_eq!(
            told,
            [
                "MCP servers are not started, and their tools are not there: db, web",
                "MCP servers of the agent scout are not started: map",
                "`providers` is not served and changes nothing",
                "the section tone of the system message stays as it is",
            ]
        );
        assert!(unsupported_options(&json!({ "tools": [{ "name": "a" }], "mcpServers": {} })).is_empty());
        let two = json!({ "tools": [{ "name": "a" }, { "name": "b" }] });
        assert_eq!(ignored_tools(&two, |_| true), None);
        assert!(ignored_tools(&two, |name| name == "a").unwrap().ends_with(": b"));
    }
}
