//! Clients' answers to pending requests: tool calls, permissions, questions and plans.

use std::sync::atomic::Ordering;

use protocol::api::{AsksParams, AsksResult, DecideParams, Method};
use protocol::{AskDecision, AskId, AskSubject, PlanAction};
use rpc::ErrorObject;
use serde_json::{Map, Value, json};

use super::unhandled;
use crate::copilot::client_events::call_key;
use crate::copilot::client_tools::ClientToolResult;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::events::NOBODY_AVAILABLE;
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::questions::{self, plan_decision};

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    let request = params["requestId"].as_str().unwrap_or_default();
    match method {
        "session.tools.handlePendingToolCall" => {
            store_result_type(session, request, &params["result"]);
            Ok(json!({ "success": session.tool_calls.answer(request, ClientToolResult::read(&params)) }))
        }
        "session.permissions.handlePendingPermissionRequest" => {
            let decision = permission_decision(session, request, &params["result"]).await?;
            // A person who rejects a call without a word wants the turn to end.
            let interrupts =
                params["result"]["kind"] == "reject" && decision == AskDecision::Deny { message: String::new() };
            let decided = DecideParams { ask: AskId(request.to_owned()), decision };
            match interrupts {
                true => Ok(json!({ "success": questions::reject_turn(session, decided).await })),
                false => Ok(json!({ "success": questions::decide(session, decided).await })),
            }
        }
        "session.permissions.setApproveAll" => {
            session.set_approves_all(params["enabled"] == true);
            let is_on = session.approves_all.load(Ordering::Acquire);
            Ok(json!({ "success": is_on == (params["enabled"] == true) }))
        }
        "session.permissions.setMode" => {
            session.set_approves_all(params["mode"] == "allow-all");
            let mode = if session.approves_all.load(Ordering::Acquire) { "allow-all" } else { "manual" };
            Ok(json!({ "success": params["mode"] == mode, "mode": mode }))
        }
        "session.ui.handlePendingUserInput" => {
            let text = params["response"]["answer"].as_str().unwrap_or_default().to_owned();
            decide(session, request, AskDecision::Reply { text }).await
        }
        "session.ui.handlePendingExitPlanMode" => {
            decide(session, request, plan_decision(&params["response"], PlanAction::Interactive)).await
        }
        // Bosun never sends elicitations.
        "session.ui.handlePendingElicitation" => Ok(json!({ "success": false })),
        "session.ui.elicitation" => Ok(json!({ "action": "decline" })),
        other => Err(unhandled(other)),
    }
}

/// Stores what clients see of the result of a call, and the model does not: how it failed, and its telemetry.
fn store_result_type(session: &HostedSession, request: &str, result: &Value) {
    let Some(call) = session.tool_calls.call_of(request) else { return };
    let mut fields = Map::new();
    if let Some(kind) = result["resultType"].as_str().filter(|kind| FAILED_RESULTS.contains(kind)) {
        fields.insert("error".to_owned(), json!({ "code": kind }));
    }
    if let Some(telemetry) = result["toolTelemetry"].as_object().filter(|telemetry| !telemetry.is_empty()) {
        fields.insert("toolTelemetry".to_owned(), json!(telemetry));
    }
    if !fields.is_empty()
        && let Err(error) = session.client_events.add_fields(call_key(&call), fields)
    {
        tracing::warn!(%error, "the result type of a call is not stored");
    }
}

/// The types of results of calls that failed.
const FAILED_RESULTS: [&str; 4] = ["failure", "rejected", "denied", "timeout"];

/// Decides an ask, and reports whether that succeeded: it fails if the ask is no longer open.
async fn decide(session: &HostedSession, request: &str, decision: AskDecision) -> Result<Value, ErrorObject> {
    let decided = DecideParams { ask: AskId(request.to_owned()), decision };
    Ok(json!({ "success": questions::decide(session, decided).await }))
}

/// Reads a client's decision on a permission.
async fn permission_decision(
    session: &HostedSession,
    request: &str,
    result: &Value,
) -> Result<AskDecision, ErrorObject> {
    let text = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
    let kind = text("kind");
    Ok(match kind.as_str() {
        "approve-once" | "approved" => AskDecision::Allow { rules: Vec::new(), input: None },
        "approve-for-session"
        | "approve-for-location"
        | "approve-permanently"
        | "approved-for-session"
        | "approved-for-location" => AskDecision::Allow { rules: offered_rules(session, request).await?, input: None },
        "approve-read-only-for-session" => {
            // Grant reading only.
            let reads = |rule: &String| rule == "read" || rule.starts_with("read(");
            let mut rules = offered_rules(session, request).await?;
            rules.retain(reads);
            AskDecision::Allow { rules, input: None }
        }
        "reject" | "denied-interactively-by-user" => AskDecision::Deny { message: text("feedback") },
        "user-not-available" | "denied-no-approval-rule-and-could-not-request-from-user" => {
            AskDecision::Deny { message: NOBODY_AVAILABLE.to_owned() }
        }
        "cancelled" => AskDecision::Deny { message: text("reason") },
        "denied-by-rules" => AskDecision::Deny { message: "a rule denies it".to_owned() },
        "denied-by-content-exclusion-policy" | "denied-by-permission-request-hook" => {
            AskDecision::Deny { message: text("message") }
        }
        other => return Err(ErrorObject::bad_params(format!("unknown permission decision `{other}`"))),
    })
}

/// The rules offered with the ask, which would allow the call and similar ones.
async fn offered_rules(session: &HostedSession, request: &str) -> Result<Vec<String>, ErrorObject> {
    let query = AsksParams { limit: Some(1000), ..AsksParams::default() };
    let open: AsksResult = session.call(Method::AsksList, query).await?;
    let ask = open.asks.into_iter().map(|row| row.ask).find(|ask| ask.id.0 == request);
    Ok(ask.map_or_else(Vec::new, |ask| match ask.subject {
        AskSubject::Permission { rules, .. } => rules,
        AskSubject::Question { .. } | AskSubject::Plan { .. } => Vec::new(),
    }))
}
