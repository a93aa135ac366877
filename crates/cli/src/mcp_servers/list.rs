//! `bosun mcp list`.

use config::{ListedMcpServer, McpServerSet, McpServerState};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::exit::CommandExit;
use tui::print;

pub(super) fn list(set: &McpServerSet, json: bool) -> Result<CommandExit, CliError> {
    if json {
        let servers: Vec<Value> = set.servers.iter().map(as_json).collect();
        print::json(&json!({ "servers": servers, "problems": set.problems }));
        return Ok(CommandExit::Success);
    }
    for problem in &set.problems {
        print::note(print::sanitize(problem));
    }
    if set.servers.is_empty() {
        print::note("no MCP servers; `bosun mcp add` adds one");
    }
    for server in &set.servers {
        let (state, reason) = state_of(&server.state);
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let ListedMcpServer { name, origin, address, .. } = server;
        print::output(print::sanitize(&format!("{name}  {state}{reason}\n    {address}\n    from {origin}")));
    }
    Ok(CommandExit::Success)
}

fn as_json(server: &ListedMcpServer) -> Value {
    let (state, reason) = state_of(&server.state);
    json!({
        "name": server.name,
        "state": state,
        "reason": reason,
        "address": server.address,
        "origin": server.origin.to_string(),
    })
}

fn state_of(state: &McpServerState) -> (&'static str, Option<&str>) {
    match state {
        McpServerState::Ready(_) => ("ready", None),
        McpServerState::Disabled => ("disabled", None),
        McpServerState::Unusable(why) => ("unusable", Some(why)),
    }
}
