//! `session.mcp.*`: the MCP servers of a session; and `mcp.discover`: those of a folder.

use std::sync::Arc;

use protocol::api::{
    ListMcpServersParams, McpDefinitionState, McpDefinitionsResult, McpServerNameParams, McpServerScope,
    McpServerStatus, McpServerView, McpServersResult, Method, SetMcpServersParams, SetMcpServersResult,
    ToggleMcpServerParams,
};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::mcp_servers::read_server;

/// The methods that name a server.
const METHODS_OF_ONE_SERVER: [&str; 7] = [
    "session.mcp.enable",
    "session.mcp.disable",
    "session.mcp.startServer",
    "session.mcp.restartServer",
    "session.mcp.stopServer",
    "session.mcp.isServerRunning",
    "session.mcp.listTools",
];

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    if method == "session.mcp.list" {
        let servers = servers(session).await?;
        return Ok(json!({ "servers": servers.iter().map(describe).collect::<Vec<_>>() }));
    }
    if method == "session.mcp.reload" {
        reconnect_all(session).await?;
        return Ok(Value::Null);
    }
    if !METHODS_OF_ONE_SERVER.contains(&method) {
        return Err(unhandled(method));
    }
    let name = required_text(&params, "serverName")?;
    match method {
        "session.mcp.enable" => {
            toggle(session, name, true).await?;
            // The client sees in the server's state whether it works.
            drop(reconnect(session, name).await);
        }
        "session.mcp.disable" | "session.mcp.stopServer" => toggle(session, name, false).await?,
        "session.mcp.startServer" | "session.mcp.restartServer" => {
            match params.get("config").filter(|config| !config.is_null()) {
                Some(config) => add(session, name, config).await?,
                None => toggle(session, name, true).await?,
            }
            reconnect(session, name).await?;
        }
        "session.mcp.isServerRunning" => {
            let is_running = |server: McpServerView| server.name == name && server.status == McpServerStatus::Connected;
            return Ok(json!({ "running": servers(session).await?.into_iter().any(is_running) }));
        }
        "session.mcp.listTools" => return list_tools(session, name).await,
        other => return Err(unhandled(other)),
    }
    Ok(Value::Null)
}

/// Connects again to the servers that need a token: a client supplies them from now on.
pub(crate) fn connect_with_tokens(session: &Arc<HostedSession>) {
    let connecting = Arc::clone(session);
    session.features.run_in_background(async move {
        let _others_are_done = connecting.features.connecting.lock().await;
        let Ok(servers) = servers(&connecting).await else { return };
        let waiting = servers.iter().filter(|server| server.status == McpServerStatus::NeedsAuth);
        // The client sees in a server's state whether it works.
        drop(futures_util::future::join_all(waiting.map(|server| reconnect(&connecting, &server.name))).await);
    });
}

/// Connects to the servers that a client has configured, which expects to see which of them work.
pub(crate) async fn connect_own(session: &HostedSession) {
    let _connecting = session.features.connecting.lock().await;
    let Ok(servers) = servers(session).await else { return };
    let is_own = |server: &&McpServerView| server.scope == McpServerScope::Session && server.agent.is_none();
    let own = servers.iter().filter(is_own).filter(|server| server.status == McpServerStatus::Ready);
    futures_util::future::join_all(own.map(|server| reconnect(session, &server.name))).await;
    match self::servers(session).await {
        Ok(servers) if !servers.is_empty() => {
            let servers: Vec<Value> = servers.iter().map(describe).collect();
            session.emit("session.mcp_servers_loaded", json!({ "servers": servers }));
        }
        Ok(_) | Err(_) => {}
    }
}

/// Connects, once, to the servers of the session's plugins. Clients expect them from the first message on, or when they
/// ask for the servers.
pub(crate) fn connect_plugin_servers(session: &Arc<HostedSession>) {
    if !session.features.has_plugins() || !session.features.begin_plugin_servers() {
        return;
    }
    let connecting = Arc::clone(session);
    session.features.run_in_background(async move {
        let Ok(servers) = servers(&connecting).await else { return };
        let is_of_plugin = |server: &&McpServerView| server.scope == McpServerScope::Plugin && server.agent.is_none();
        let ready = servers.iter().filter(is_of_plugin).filter(|server| server.status == McpServerStatus::Ready);
        // The client sees in a server's state whether it works.
        drop(futures_util::future::join_all(ready.map(|server| reconnect(&connecting, &server.name))).await);
    });
}

/// The servers that sessions in a folder may use.
pub(crate) async fn discover(connection: &Arc<CopilotConnection>, params: &Value) -> Result<Value, ErrorObject> {
    let cwd = params["workingDirectory"].as_str().map(str::to_owned);
    let params = json!(ListMcpServersParams { cwd, ..ListMcpServersParams::default() });
    let answer = connection.server().sessions.opener().answer(Method::McpList, params).await;
    let answer = answer.map_err(|error| ErrorObject::internal(error.message))?;
    let McpDefinitionsResult { servers, .. } = serde_json::from_value(answer).map_err(ErrorObject::internal)?;
    let shared = servers.iter().filter(|server| server.agent.is_none());
    let servers = shared.map(|server| {
        let is_enabled = server.state == McpDefinitionState::Ready;
        json!({ "name": server.name, "source": source(server.scope), "enabled": is_enabled })
    });
    Ok(json!({ "servers": servers.collect::<Vec<_>>() }))
}

pub(super) async fn servers(session: &HostedSession) -> Result<Vec<McpServerView>, ErrorObject> {
    let McpServersResult { servers } = session.call(Method::SessionMcpList, json!({})).await?;
    Ok(servers)
}

async fn list_tools(session: &HostedSession, name: &str) -> Result<Value, ErrorObject> {
    let server = servers(session).await?.into_iter().find(|server| server.name == name);
    let tools = server.filter(|server| server.status == McpServerStatus::Connected).and_then(|server| server.tools);
    let tools = tools.ok_or_else(|| ErrorObject::internal(format!("MCP server '{name}' is not connected")))?;
    let tool = |tool: &protocol::api::McpToolView| json!({ "name": tool.name, "description": tool.description });
    Ok(json!({ "tools": tools.iter().map(tool).collect::<Vec<_>>() }))
}

async fn toggle(session: &HostedSession, name: &str, enabled: bool) -> Result<(), ErrorObject> {
    let params = ToggleMcpServerParams { name: name.to_owned(), enabled };
    let _done: Value = session.call(Method::SessionMcpToggle, params).await?;
    report(session, name).await;
    Ok(())
}

async fn reconnect(session: &HostedSession, name: &str) -> Result<(), ErrorObject> {
    let pending = json!({ "serverName": name, "status": "pending" });
    session.emit("session.mcp_server_status_changed", pending);
    let done = session.call::<Value>(Method::SessionMcpReconnect, McpServerNameParams { name: name.to_owned() }).await;
    report(session, name).await;
    done.map(drop)
}

async fn reconnect_all(session: &HostedSession) -> Result<(), ErrorObject> {
    let servers = servers(session).await?;
    let enabled = servers.iter().filter(|server| server.status != McpServerStatus::Disabled && server.agent.is_none());
    futures_util::future::join_all(enabled.map(|server| reconnect(session, &server.name))).await;
    Ok(())
}

/// Adds a server to those that clients added.
async fn add(session: &HostedSession, name: &str, config: &Value) -> Result<(), ErrorObject> {
    let spec = read_server(config).map_err(ErrorObject::bad_params)?;
    let servers = session.with_added_server(name, spec);
    let changed: SetMcpServersResult =
        session.call(Method::SessionMcpSetServers, SetMcpServersParams { servers }).await?;
    match changed.errors.get(name) {
        Some(why) => Err(ErrorObject::internal(format!("the MCP server `{name}` cannot be used: {why}"))),
        None => Ok(()),
    }
}

/// Tells the clients a server's state.
async fn report(session: &HostedSession, name: &str) {
    let Ok(servers) = servers(session).await else { return };
    let Some(server) = servers.iter().find(|server| server.name == name) else { return };
    let mut content = json!({ "serverName": name, "status": status(server.status) });
    if let Some(error) = &server.error {
        content["error"] = error.as_str().into();
    }
    session.emit("session.mcp_server_status_changed", content);
}

fn describe(server: &McpServerView) -> Value {
    let mut view = json!({ "name": server.name, "status": status(server.status), "source": source(server.scope) });
    if let Some(error) = &server.error {
        view["error"] = error.as_str().into();
    }
    view
}

fn status(status: McpServerStatus) -> &'static str {
    match status {
        McpServerStatus::Connected => "connected",
        McpServerStatus::Pending => "pending",
        // It starts when an agent needs it.
        McpServerStatus::Ready => "stopped",
        McpServerStatus::NeedsAuth => "needs-auth",
        McpServerStatus::Disabled => "disabled",
        McpServerStatus::Failed | McpServerStatus::Unknown => "failed",
    }
}

fn source(scope: McpServerScope) -> &'static str {
    match scope {
        McpServerScope::Project => "workspace",
        McpServerScope::Plugin => "plugin",
        McpServerScope::Managed => "managed",
        McpServerScope::Session | McpServerScope::Local | McpServerScope::User | McpServerScope::Unknown => "user",
    }
}
