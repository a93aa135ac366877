//! A session's metadata and usage.

use protocol::api::{Method, SessionView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::methods::workspaces::workspace_view;
use crate::copilot::model_names::client_model_name;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.metadata.activity" => {
            let is_busy = session.is_busy();
            Ok(json!({ "abortable": is_busy, "hasActiveWork": is_busy }))
        }
        "session.metadata.isProcessing" => Ok(json!({ "processing": session.is_busy() })),
        "session.metadata.recordContextChange" => record_context(session, &params["context"]).await,
        "session.metadata.setWorkingDirectory" => {
            let why = "the folder of an open session cannot change: resume the session with `workingDirectory`";
            Err(ErrorObject::internal(why))
        }
        "session.metadata.snapshot" => snapshot(session).await,
        "session.usage.getMetrics" => metrics(session).await,
        other => Err(unhandled(other)),
    }
}

async fn snapshot(session: &HostedSession) -> Result<Value, ErrorObject> {
    let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
    Ok(json!({
        "sessionId": session.name_for_clients(),
        "startTime": view.created_at.to_string(),
        "modifiedTime": view.updated_at.to_string(),
        "isRemote": false,
        "alreadyInUse": false,
        "workspacePath": session.home().session_dir(session.id()),
        "summary": view.title,
        "workingDirectory": view.cwd,
        "currentMode": view.mode.to_string(),
        "selectedModel": client_model_name(&view.model),
        "sessionLimits": null,
        "workspace": workspace_view(session, &view),
    }))
}

async fn metrics(session: &HostedSession) -> Result<Value, ErrorObject> {
    let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
    Ok(json!({
        "totalPremiumRequestCost": 0,
        "totalUserRequests": view.turns,
        "totalApiDurationMs": 0,
        "sessionStartTime": view.created_at.to_string(),
        "codeChanges": { "linesAdded": 0, "linesRemoved": 0, "filesModifiedCount": 0, "filesModified": [] },
        "modelMetrics": model_metrics(&view),
        "currentModel": client_model_name(&view.model),
        "lastCallInputTokens": 0,
        "lastCallOutputTokens": 0,
    }))
}

/// What the session used, by model.
pub(crate) fn model_metrics(view: &SessionView) -> Value {
    let usage = view.usage;
    let metrics = json!({
        "requests": { "count": view.turns, "cost": 0 },
        "usage": {
            "inputTokens": usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write),
            "outputTokens": usage.output,
            "cacheReadTokens": usage.cache_read,
            "cacheWriteTokens": usage.cache_write,
        },
    });
    json!({ (client_model_name(&view.model)): metrics })
}

/// Tells all clients what a client found out about the session's folder. Another folder's state is ignored.
async fn record_context(session: &HostedSession, context: &Value) -> Result<Value, ErrorObject> {
    let cwd = context["cwd"].as_str().ok_or_else(|| ErrorObject::bad_params("`context.cwd` is missing"))?;
    let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
    if cwd.trim_end_matches('/') == view.cwd.trim_end_matches('/') {
        session.record("session.context_changed", context.clone()).await?;
    }
    Ok(Value::Null)
}
