//! `bosun mcp list`.

use config::{ListedMcpServer, McpServerSet, McpServerState};
use mcp::{LoginStatus, LoginStore, McpAddress};
use protocol::api::{McpDefinitionState, McpDefinitionView, McpDefinitionsResult};
use serde_json::{Value, json};
use tui::print;

/// The servers and what is wrong with the files that define them.
pub(super) fn view(set: &McpServerSet, logins: &LoginStore) -> McpDefinitionsResult {
    let servers = set.servers.iter().map(|server| server_view(server, logins)).collect();
    McpDefinitionsResult { servers, problems: set.problems.clone() }
}

fn server_view(server: &ListedMcpServer, logins: &LoginStore) -> McpDefinitionView {
    let (state, reason) = match &server.state {
        McpServerState::Ready(settings) => match &settings.address {
            McpAddress::Url { url, .. } if needs_login(logins, &server.name, url) => {
                let name = print::shell_quote(&server.name);
                (McpDefinitionState::NeedsLogin, Some(format!("run `bosun mcp login {name}`")))
            }
            McpAddress::Url { .. } | McpAddress::Program(_) => (McpDefinitionState::Ready, None),
        },
        McpServerState::Disabled(_) => (McpDefinitionState::Disabled, None),
        McpServerState::Unusable(why) => (McpDefinitionState::Unusable, Some(why.clone())),
    };
    McpDefinitionView {
        name: server.name.clone(),
        state,
        reason,
        address: server.address.clone(),
        scope: server.origin.scope(),
        origin: server.origin.to_string(),
        agent: server.origin.agent().map(str::to_owned),
    }
}

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

/// Whether a server refused its last requests because the user had not signed in.
fn needs_login(logins: &LoginStore, name: &str, url: &str) -> bool {
    logins.status(name, url).is_ok_and(|status| status == LoginStatus::Needed)
}
