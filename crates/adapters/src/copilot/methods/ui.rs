//! `session.ui.*`: questions and forms for the people in front of a session's clients.

use protocol::api::{AskModelParams, AskModelResult, Method};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::{answers, unhandled};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

pub(super) async fn call(
    connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    let features = &session.features;
    match method {
        "session.ui.handlePendingUserInput" | "session.ui.handlePendingExitPlanMode" => {
            answers::call(connection, session, method, params).await
        }
        "session.ui.ephemeralQuery" => {
            let question = required_text(&params, "question")?.to_owned();
            let AskModelResult { answer } = session.call(Method::ModelAsk, AskModelParams { question }).await?;
            Ok(json!({ "answer": answer }))
        }
        "session.ui.elicitation" => show_form(session, &params).await,
        "session.ui.handlePendingElicitation" => {
            let answered = features.forms.answer(required_text(&params, "requestId")?, params["result"].clone());
            Ok(json!({ "success": answered }))
        }
        // Bosun never sends these requests, so that none is pending.
        "session.ui.handlePendingSampling"
        | "session.ui.handlePendingAutoModeSwitch"
        | "session.ui.handlePendingSessionLimitsExhausted" => {
            required_text(&params, "requestId")?;
            Ok(json!({ "success": false }))
        }
        "session.ui.registerDirectAutoModeSwitchHandler" => {
            let handle = features.add_switch_handler();
            let handle = handle.ok_or_else(|| ErrorObject::internal("too many handlers: unregister one first"))?;
            Ok(json!({ "handle": handle }))
        }
        "session.ui.unregisterDirectAutoModeSwitchHandler" => {
            let removed = features.remove_switch_handler(required_text(&params, "handle")?);
            Ok(json!({ "unregistered": removed }))
        }
        other => Err(unhandled(other)),
    }
}

/// Shows a form to a person: any client that can show forms answers. Without such a client it is declined.
async fn show_form(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let message = required_text(params, "message")?;
    // Register first: a client that leaves afterwards abandons it.
    let pending = session.features.forms.register();
    if !session.clients.can_show_forms() {
        return Ok(json!({ "action": "decline" }));
    }
    let request = pending.id().to_owned();
    let mut content = json!({ "requestId": request, "message": message, "mode": "form" });
    if params["requestedSchema"].is_object() {
        content["requestedSchema"] = params["requestedSchema"].clone();
    }
    session.emit("elicitation.requested", content);
    let result = pending.wait().await.unwrap_or_else(|| json!({ "action": "cancel" }));
    let mut completed = json!({ "requestId": request, "action": result["action"] });
    let mut answer = json!({ "action": result["action"].as_str().unwrap_or("cancel") });
    if result["content"].is_object() {
        completed["content"] = result["content"].clone();
        answer["content"] = result["content"].clone();
    }
    session.emit("elicitation.completed", completed);
    Ok(answer)
}
