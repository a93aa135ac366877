//! `session.suspend` and `session.shutdown`: a session that stops while its clients stay connected.

use protocol::api::{Method, SessionView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::optional_text;
use super::metadata::model_metrics;
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::model_names::client_model_name;

/// Interrupts everything that runs: calls that wait for a client or a decision are not continued. The session can be
/// resumed.
pub(crate) async fn suspend(session: &HostedSession) -> Result<Value, ErrorObject> {
    close(session).await;
    Ok(Value::Null)
}

/// Closes a session, and completes the copy that its client keeps.
async fn close(session: &HostedSession) {
    if let Some(copy) = session.state_copy()
        && let Err(error) = copy.write_changes(session).await
    {
        tracing::warn!(error = %error.message, "the copy of a session's state is incomplete");
    }
    session.close().await;
}

/// Reports what the session used, and closes it. It can be resumed.
pub(crate) async fn shut_down(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let kind = optional_text(params, "type").unwrap_or("routine");
    if !["routine", "error"].contains(&kind) {
        return Err(ErrorObject::bad_params(format!("unknown type `{kind}`; use routine or error")));
    }
    let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
    let mut report = json!({
        "shutdownType": kind,
        "sessionStartTime": view.created_at.0,
        "totalApiDurationMs": 0,
        "codeChanges": { "linesAdded": 0, "linesRemoved": 0, "filesModified": [] },
        "modelMetrics": model_metrics(&view),
        "currentModel": client_model_name(&view.model),
    });
    if let Some(reason) = optional_text(params, "reason").filter(|_| kind == "error") {
        report["errorReason"] = reason.into();
    }
    session.record("session.shutdown", report).await?;
    close(session).await;
    Ok(Value::Null)
}
