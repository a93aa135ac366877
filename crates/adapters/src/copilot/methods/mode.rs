//! `session.mode.*`.

use protocol::SessionMode;
use protocol::api::{Method, ModeParams};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::{optional_text, required_text};
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.mode.get" => Ok(json!(current(session).await?.as_str())),
        "session.mode.set" => set(session, &params).await,
        other => Err(unhandled(other)),
    }
}

async fn current(session: &HostedSession) -> Result<SessionMode, ErrorObject> {
    let ModeParams { mode } = session.call(Method::ModeGet, json!({})).await?;
    Ok(mode)
}

async fn set(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let mode = parse_mode(required_text(params, "mode")?)?;
    let expected = optional_text(params, "expectedMode").map(parse_mode).transpose()?;
    let current_mode = current(session).await?;
    if expected.is_some_and(|expected| expected != current_mode) {
        let message = format!("the session is in {current_mode} mode");
        return Ok(json!({ "status": "conflict", "modelChanged": false, "modeApplied": false, "message": message }));
    }
    let _done: Value = session.call(Method::ModeSet, ModeParams { mode }).await?;
    Ok(json!({ "status": "applied", "modelChanged": false, "modeApplied": true }))
}

fn parse_mode(name: &str) -> Result<SessionMode, ErrorObject> {
    SessionMode::from_name(name)
        .ok_or_else(|| ErrorObject::bad_params(format!("unknown mode `{name}`; use interactive, plan or autopilot")))
}
