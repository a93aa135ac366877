//! `session.mcp.apps.*`, `session.mcp.oauth.*` and requests that MCP servers make of a session's clients.

use protocol::McpServerKind;
use protocol::api::{McpServerStatus, McpServerView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::{mcp, unhandled};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

/// Why no view of an MCP server is shown.
const NO_APPS: &str = "the mcp-apps capability is not enabled: Bosun shows no views of MCP servers";

pub(super) async fn call(
    connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    Ok(match method {
        "session.mcp.enable" | "session.mcp.disable" | "session.mcp.reload" => {
            require_servers(session, method).await?;
            return mcp::call(connection, session, method, params).await;
        }
        // Bosun adds no server for GitHub by itself.
        "session.mcp.removeGitHub" => json!({ "removed": false }),
        "session.mcp.setEnvValueMode" => match required_text(&params, "mode")? {
            mode @ ("direct" | "indirect") => {
                session.features.set_indirect_env(mode == "indirect");
                json!({ "mode": mode })
            }
            other => return Err(ErrorObject::bad_params(format!("unknown mode `{other}`: use direct or indirect"))),
        },
        "session.mcp.startServer" | "session.mcp.restartServer"
            if session.features.has_indirect_env() && params["config"]["env"].is_object() =>
        {
            let why = "Bosun cannot look up indirect values of `env`: set the mode `direct`";
            return Err(ErrorObject::internal(why));
        }
        // The session's model answers the questions of servers that may ask any, without the client.
        "session.mcp.executeSampling" => {
            required_text(&params, "requestId")?;
            json!({ "action": "failure", "error": "no sampling request is pending for the client" })
        }
        "session.mcp.cancelSamplingExecution" => {
            required_text(&params, "requestId")?;
            json!({ "cancelled": false })
        }
        "session.mcp.headers.handlePendingHeadersRefreshRequest" => {
            required_text(&params, "requestId")?;
            json!({ "success": false })
        }
        "session.mcp.apps.setHostContext" => {
            let context = params["context"].is_object().then(|| params["context"].clone());
            let context = context.ok_or_else(|| ErrorObject::bad_params("`context` is not an object"))?;
            session.features.set_app_context(context);
            Value::Null
        }
        "session.mcp.apps.getHostContext" => json!({ "context": session.features.app_context() }),
        "session.mcp.apps.diagnose" => diagnose(session, required_text(&params, "serverName")?).await?,
        "session.mcp.apps.listTools" | "session.mcp.apps.callTool" => return Err(ErrorObject::internal(NO_APPS)),
        "session.mcp.apps.readResource" => {
            let uri = required_text(&params, "uri")?;
            return Err(ErrorObject::internal(format!("the resource {uri} is not available: {NO_APPS}")));
        }
        "session.mcp.oauth.handlePendingRequest" => {
            let request = required_text(&params, "requestId")?;
            json!({ "success": session.tool_calls.mcp_tokens.answer(request, &params["result"]) })
        }
        "session.mcp.oauth.login" => return Err(login(session, required_text(&params, "serverName")?).await?),
        other if other.starts_with("session.mcp.apps.") || other.starts_with("session.mcp.oauth.") => {
            return Err(unhandled(other));
        }
        _of_servers => return mcp::call(connection, session, method, params).await,
    })
}

/// Fails in a session without MCP servers.
async fn require_servers(session: &HostedSession, method: &str) -> Result<(), ErrorObject> {
    if mcp::servers(session).await?.is_empty() {
        let why = match method {
            "session.mcp.reload" => "MCP config reload not available: the session has no MCP servers",
            _one_server => "No MCP host initialized: the session has no MCP servers",
        };
        return Err(ErrorObject::internal(why));
    }
    Ok(())
}

async fn diagnose(session: &HostedSession, name: &str) -> Result<Value, ErrorObject> {
    let server = mcp::servers(session).await?.into_iter().find(|server| server.name == name);
    let is_connected = server.as_ref().is_some_and(|server| server.status == McpServerStatus::Connected);
    let tools = server.and_then(|server| server.tools).map_or(0, |tools| tools.len());
    Ok(json!({
        "capability": { "sessionHasMcpApps": false, "featureFlagEnabled": false, "advertised": false },
        "server": { "connected": is_connected, "toolCount": tools, "toolsWithUiMeta": 0, "sampleToolNames": [] },
    }))
}

/// Why a client cannot sign in to a server.
async fn login(session: &HostedSession, name: &str) -> Result<ErrorObject, ErrorObject> {
    let servers = mcp::servers(session).await?;
    let why = match servers.iter().find(|server| server.name == name) {
        None if servers.is_empty() => "MCP host is not available: the session has no MCP servers".to_owned(),
        None => format!("MCP server '{name}' is not configured"),
        Some(McpServerView { transport: Some(McpServerKind::Stdio), .. }) => {
            format!("MCP server '{name}' is not a remote server: it needs no login")
        }
        Some(_remote) => format!("sign in to the MCP server '{name}' with `bosun mcp login {name}`"),
    };
    Ok(ErrorObject::internal(why))
}
