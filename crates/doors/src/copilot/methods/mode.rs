//! `session.mode.*`, and where the agent is with its objective on autopilot.

use protocol::SessionMode;
use protocol::api::{Method, ModeParams};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::{maybe, text};
use super::unhandled;
use crate::copilot::held::Held;
use crate::copilot::visit::Visit;

pub(crate) async fn call(_visit: &Visit, session: &Held, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match method {
        "session.mode.get" => Ok(json!(current(session).await?.word())),
        "session.mode.set" => set(session, &params).await,
        other => Err(unhandled(other)),
    }
}

async fn current(session: &Held) -> Result<SessionMode, ErrorObject> {
    let ModeParams { mode } = session.call(Method::ModeGet, json!({})).await?;
    Ok(mode)
}

async fn set(session: &Held, params: &Value) -> Result<Value, ErrorObject> {
    let mode = named(text(params, "mode")?)?;
    let expected = maybe(params, "expectedMode").map(named).transpose()?;
    let now = current(session).await?;
    if expected.is_some_and(|expected| expected != now) {
        let message = format!("the session is in {now} mode");
        return Ok(json!({ "status": "conflict", "modelChanged": false, "modeApplied": false, "message": message }));
    }
    let _done: Value = session.call(Method::ModeSet, ModeParams { mode }).await?;
    Ok(json!({ "status": "applied", "modelChanged": false, "modeApplied": true }))
}

fn named(word: &str) -> Result<SessionMode, ErrorObject> {
    SessionMode::named(word)
        .ok_or_else(|| ErrorObject::bad_params(format!("`{word}` is no mode; it is interactive, plan or autopilot")))
}
