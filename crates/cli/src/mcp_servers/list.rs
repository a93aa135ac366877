//! `bosun mcp list`.

use config::{ListedMcpServer, McpServerSet, McpServerState};
use mcp::{LoginStatus, LoginStore, McpAddress};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use tui::print;

pub(super) fn list(setup: &Setup, set: &McpServerSet, json: bool) -> Result<CommandExit, CliError> {
    let logins = LoginStore::new(setup.home.clone());
    if json {
        let servers: Vec<Value> = set.servers.iter().map(|server| as_json(server, &logins)).collect();
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
        let (state, reason) = state_of(server, &logins);
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let (ListedMcpServer { name, origin, address, .. }, state) = (server, state.replace('-', " "));
        print::output(print::sanitize(&format!("{name}  {state}{reason}\n    {address}\n    from {origin}")));
    }
    Ok(CommandExit::Success)
}

fn as_json(server: &ListedMcpServer, logins: &LoginStore) -> Value {
    let (state, reason) = state_of(server, logins);
    json!({
        "name": server.name,
        "state": state,
        "reason": reason,
        "address": server.address,
        "origin": server.origin.to_string(),
    })
}

/// Whether sessions may use a server, and why not.
fn state_of(server: &ListedMcpServer, logins: &LoginStore) -> (&'static str, Option<String>) {
    match &server.state {
        McpServerState::Ready(settings) => match &settings.address {
            McpAddress::Url { url, .. } if needs_login(logins, &server.name, url) => {
                let name = print::shell_quote(&server.name);
                ("needs-login", Some(format!("run `bosun mcp login {name}`")))
            }
            McpAddress::Url { .. } | McpAddress::Program(_) => ("ready", None),
        },
        McpServerState::Disabled => ("disabled", None),
        McpServerState::Unusable(why) => ("unusable", Some(why.clone())),
    }
}

/// Whether a server refused its last requests because nobody had signed in.
fn needs_login(logins: &LoginStore, name: &str, url: &str) -> bool {
    logins.status(name, url).is_ok_and(|status| status == LoginStatus::Needed)
}
