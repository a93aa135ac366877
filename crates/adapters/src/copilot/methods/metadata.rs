//! A session's metadata, usage and event log.

use std::sync::PoisonError;

use protocol::api::{Method, SessionView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::history;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.name.get" => {
            let name = session.title.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Ok(json!({ "name": name }))
        }
        "session.name.set" => {
            let name = params["name"].as_str().unwrap_or_default().to_owned();
            *session.title.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.clone());
            session.emit("session.title_changed", json!({ "title": name }));
            Ok(Value::Null)
        }
        "session.metadata.activity" => {
            let is_busy = session.is_busy();
            Ok(json!({ "abortable": is_busy, "hasActiveWork": is_busy }))
        }
        "session.metadata.snapshot" => snapshot(session).await,
        "session.usage.getMetrics" => metrics(session).await,
        "session.options.update" => Ok(json!({ "success": true })),
        "session.eventLog.read" => read_event_log(session, &params).await,
        // Every client receives all events.
        "session.eventLog.registerInterest" => Ok(json!({ "handle": params["eventType"] })),
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
        "selectedModel": view.model,
        "sessionLimits": null,
        "workspace": null,
    }))
}

async fn metrics(session: &HostedSession) -> Result<Value, ErrorObject> {
    let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
    let usage = view.usage;
    let mut models = serde_json::Map::new();
    models.insert(
        view.model.clone(),
        json!({
            "requests": { "count": view.turns, "cost": 0 },
            "usage": {
                "inputTokens": usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write),
                "outputTokens": usage.output,
                "cacheReadTokens": usage.cache_read,
                "cacheWriteTokens": usage.cache_write,
            },
        }),
    );
    Ok(json!({
        "totalPremiumRequestCost": 0,
        "totalUserRequests": view.turns,
        "totalApiDurationMs": 0,
        "sessionStartTime": view.created_at.to_string(),
        "codeChanges": { "linesAdded": 0, "linesRemoved": 0, "filesModifiedCount": 0, "filesModified": [] },
        "modelMetrics": models,
        "currentModel": view.model,
        "lastCallInputTokens": 0,
        "lastCallOutputTokens": 0,
    }))
}

/// Maximum events of one page.
const MAX_PAGE_EVENTS: u64 = 1000;

/// One page of the event log; a cursor is the number of events before the page.
async fn read_event_log(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let events = history::recorded_events(session.home(), session.id()).await?;
    let from = params["cursor"].as_str().map_or(Ok(0), str::parse::<usize>);
    let from = from.map_err(|_| ErrorObject::bad_params("`cursor` is not valid: use one that this method returned"))?;
    let max = usize::try_from(params["max"].as_u64().unwrap_or(100).clamp(1, MAX_PAGE_EVENTS)).unwrap_or(1);
    let next = from.saturating_add(max).min(events.len());
    let is_wanted = |event: &Value| match &params["types"] {
        Value::Array(types) => types.contains(&event["type"]),
        _all => true,
    };
    let page: Vec<&Value> = events.iter().skip(from).take(max).filter(|event| is_wanted(event)).collect();
    Ok(json!({ "events": page, "cursor": next.to_string(), "hasMore": next < events.len(), "cursorStatus": "ok" }))
}
