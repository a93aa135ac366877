//! `bosun mcp list`.

use protocol::api::{McpDefinitionView, McpDefinitionsResult};
use serde_json::{Value, json};
use tui::print;

pub(super) fn print(view: &McpDefinitionsResult, json: bool) {
    if json {
        let servers: Vec<Value> = view.servers.iter().map(as_json).collect();
        return print::json(&json!({ "servers": servers, "problems": view.problems }));
    }
    for problem in &view.problems {
        print::note(print::sanitize(problem));
    }
    if view.servers.is_empty() {
        print::note("no MCP servers; `bosun mcp add` adds one");
    }
    for McpDefinitionView { name, state, reason, address, origin, .. } in &view.servers {
        let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let state = state.as_str();
        print::output(print::sanitize(&format!("{name}  {state}{reason}\n    {address}\n    from {origin}")));
    }
}

fn as_json(server: &McpDefinitionView) -> Value {
    json!({
        "name": server.name,
        "state": server.state,
        "reason": server.reason,
        "address": server.address,
        "scope": server.scope,
        "origin": server.origin,
        "agent": server.agent,
    })
}
