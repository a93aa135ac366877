//! What clients answer to what they were told waits for them: tool calls, permissions, questions and plans.

use std::sync::atomic::Ordering;

use protocol::api::{AsksParams, AsksResult, DecideParams, Method};
use protocol::{AskId, Decision, PlanAction, Subject};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::held::Held;
use crate::copilot::questions::{self, on_plan};
use crate::copilot::tools::Answer;
use crate::copilot::visit::Visit;

pub(crate) async fn call(_visit: &Visit, session: &Held, method: &str, params: Value) -> Result<Value, ErrorObject> {
    let request = params["requestId"].as_str().unwrap_or_default();
    match method {
        "session.tools.handlePendingToolCall" => {
            Ok(json!({ "success": session.bench.answer(request, Answer::read(&params)) }))
        }
        "session.permissions.handlePendingPermissionRequest" => {
            let decision = permitted(session, request, &params["result"]).await?;
            decide(session, request, decision).await
        }
        "session.permissions.setApproveAll" => {
            session.approve_all(params["enabled"] == true);
            let is_on = session.approves_all.load(Ordering::Acquire);
            Ok(json!({ "success": is_on == (params["enabled"] == true) }))
        }
        "session.permissions.setMode" => {
            session.approve_all(params["mode"] == "allow-all");
            let mode = if session.approves_all.load(Ordering::Acquire) { "allow-all" } else { "manual" };
            Ok(json!({ "success": params["mode"] == mode, "mode": mode }))
        }
        "session.ui.handlePendingUserInput" => {
            let text = params["response"]["answer"].as_str().unwrap_or_default().to_owned();
            decide(session, request, Decision::Reply { text }).await
        }
        "session.ui.handlePendingExitPlanMode" => {
            decide(session, request, on_plan(&params["response"], PlanAction::Interactive)).await
        }
        // Nothing is ever asked in that form.
        "session.ui.handlePendingElicitation" => Ok(json!({ "success": false })),
        "session.ui.elicitation" => Ok(json!({ "action": "decline" })),
        other => Err(unhandled(other)),
    }
}

/// Decides on an ask; one that does not wait any more is no success.
async fn decide(session: &Held, request: &str, decision: Decision) -> Result<Value, ErrorObject> {
    let decided = DecideParams { ask: AskId(request.to_owned()), decision };
    Ok(json!({ "success": questions::decide(session, decided).await }))
}

/// A client's word on a permission.
async fn permitted(session: &Held, request: &str, result: &Value) -> Result<Decision, ErrorObject> {
    let word = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
    let kind = word("kind");
    Ok(match kind.as_str() {
        "approve-once" | "approved" => Decision::Allow { rules: Vec::new(), input: None },
        "approve-for-session"
        | "approve-for-location"
        | "approve-permanently"
        | "approved-for-session"
        | "approved-for-location" => Decision::Allow { rules: rules(session, request).await?, input: None },
        "approve-read-only-for-session" => {
            // To look is granted, and no more than that.
            let reads = |rule: &String| rule == "read" || rule.starts_with("read(");
            let mut rules = rules(session, request).await?;
            rules.retain(reads);
            Decision::Allow { rules, input: None }
        }
        "reject" | "denied-interactively-by-user" => Decision::Deny { words: word("feedback") },
        "user-not-available" | "denied-no-approval-rule-and-could-not-request-from-user" => {
            Decision::Deny { words: "nobody was there to ask".to_owned() }
        }
        "cancelled" => Decision::Deny { words: word("reason") },
        "denied-by-rules" => Decision::Deny { words: "a rule denies it".to_owned() },
        "denied-by-content-exclusion-policy" | "denied-by-permission-request-hook" => {
            Decision::Deny { words: word("message") }
        }
        other => return Err(ErrorObject::bad_params(format!("`{other}` is no decision on a permission"))),
    })
}

/// The rules that would allow the call and its like, if there may be any.
async fn rules(session: &Held, request: &str) -> Result<Vec<String>, ErrorObject> {
    let wanted = AsksParams { limit: Some(1000), ..AsksParams::default() };
    let open: AsksResult = session.call(Method::AsksList, wanted).await?;
    let ask = open.asks.into_iter().map(|row| row.ask).find(|ask| ask.id.0 == request);
    Ok(ask.map_or_else(Vec::new, |ask| match ask.subject {
        Subject::Permission { rules, .. } => rules,
        Subject::Question { .. } | Subject::Plan { .. } => Vec::new(),
    }))
}
