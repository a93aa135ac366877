//! Events about asks and decisions.

use protocol::{Ask, AskDecision, AskId, AskSubject, CallId, DecidedBy, TaskId};
use serde_json::{Value, json};

use super::EventTranslator;
use super::event::CopilotEvent;
use super::permission;

/// What a client's decision says if it could not ask a user.
pub(crate) const NOBODY_AVAILABLE: &str = "no user was available to ask";

/// Why a call was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallDenial {
    /// A user rejected it.
    Rejected,
    /// Nobody decided.
    Undecided,
}

impl CallDenial {
    fn of(decision: &AskDecision, by: DecidedBy) -> Option<CallDenial> {
        match (decision, by) {
            (AskDecision::Deny { message }, DecidedBy::User) if message == NOBODY_AVAILABLE => {
                Some(CallDenial::Undecided)
            }
            (AskDecision::Deny { .. }, DecidedBy::User) => Some(CallDenial::Rejected),
            (AskDecision::Deny { .. }, DecidedBy::Deadline) => Some(CallDenial::Undecided),
            (AskDecision::Allow { .. } | AskDecision::Reply { .. } | AskDecision::Proceed { .. }, _) => None,
        }
    }
}

impl EventTranslator {
    pub(super) fn ask_opened(&mut self, task: TaskId, ask: Ask) -> Vec<CopilotEvent> {
        let agent = self.subagent_id(task);
        let event = self.ask_event(&ask);
        self.asks.insert(ask.id, ask.subject);
        vec![event.for_agent(agent)]
    }

    /// The event about a pending ask, sent when it opens or when a client connects.
    pub(crate) fn ask_event(&self, ask: &Ask) -> CopilotEvent {
        let request = ask.id.to_string();
        match &ask.subject {
            AskSubject::Permission { tool, input, reason, rules } => {
                let content = json!({
                    "requestId": request,
                    "permissionRequest": permission::permission_request(&ask.call, tool, input, reason, !rules.is_empty()),
                    "agentMode": self.mode.to_string(),
                    "permissionMode": "manual",
                    "ownerSessionId": self.session_name,
                });
                CopilotEvent::persistent("permission.requested", content)
            }
            AskSubject::Question { question, choices } => {
                let mut content = json!({
                    "requestId": request,
                    "question": question,
                    "allowFreeform": choices.is_empty(),
                    "toolCallId": ask.call.to_string(),
                });
                if !choices.is_empty() {
                    content["choices"] = json!(choices);
                }
                CopilotEvent::transient("user_input.requested", content)
            }
            AskSubject::Plan { summary, plan, actions, recommended, .. } => {
                let actions: Vec<&str> = actions.iter().map(|action| action.as_str()).collect();
                let content = json!({
                    "requestId": request,
                    "summary": summary,
                    "planContent": plan,
                    "actions": actions,
                    "recommendedAction": recommended.as_str(),
                });
                CopilotEvent::transient("exit_plan_mode.requested", content)
            }
        }
    }

    pub(super) fn ask_decided(
        &mut self,
        task: TaskId,
        ask: &AskId,
        call: &CallId,
        decision: AskDecision,
        by: DecidedBy,
    ) -> Vec<CopilotEvent> {
        let agent = self.subagent_id(task);
        let request = ask.to_string();
        let Some(subject) = self.asks.remove(ask) else { return Vec::new() };
        if let (AskSubject::Permission { .. }, Some(denial)) = (&subject, CallDenial::of(&decision, by)) {
            self.denied_calls.insert((task, call.clone()), denial);
        }
        let event = match subject {
            AskSubject::Permission { .. } => {
                let result = permission_result(decision, by);
                let content = json!({ "requestId": request, "toolCallId": call.to_string(), "result": result });
                CopilotEvent::persistent("permission.completed", content)
            }
            AskSubject::Question { choices, .. } => {
                let mut content = json!({ "requestId": request });
                if let AskDecision::Reply { text } = decision {
                    content["wasFreeform"] = (!choices.contains(&text)).into();
                    content["answer"] = text.into();
                }
                CopilotEvent::transient("user_input.completed", content)
            }
            AskSubject::Plan { .. } => {
                let mut content = json!({ "requestId": request, "approved": false });
                match decision {
                    AskDecision::Proceed { action } => {
                        content["approved"] = true.into();
                        content["selectedAction"] = action.as_str().into();
                    }
                    AskDecision::Deny { message } => content["feedback"] = message.into(),
                    AskDecision::Allow { .. } | AskDecision::Reply { .. } => {}
                }
                CopilotEvent::transient("exit_plan_mode.completed", content)
            }
        };
        vec![event.for_agent(agent)]
    }
}

fn permission_result(decision: AskDecision, by: DecidedBy) -> Value {
    match (decision, by) {
        (AskDecision::Allow { .. } | AskDecision::Reply { .. } | AskDecision::Proceed { .. }, _) => {
            json!({ "kind": "approved" })
        }
        (AskDecision::Deny { .. }, DecidedBy::Deadline) => {
            json!({ "kind": "denied-no-approval-rule-and-could-not-request-from-user" })
        }
        (AskDecision::Deny { message }, DecidedBy::User) if message == NOBODY_AVAILABLE => {
            json!({ "kind": "denied-no-approval-rule-and-could-not-request-from-user" })
        }
        (AskDecision::Deny { message }, DecidedBy::User) => {
            json!({ "kind": "denied-interactively-by-user", "feedback": message })
        }
    }
}
