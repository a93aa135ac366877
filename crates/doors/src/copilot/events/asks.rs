//! What clients are told of asks and of what was decided.

use protocol::{Ask, AskId, CallId, DecidedBy, Decision, Subject, TaskId};
use serde_json::{Value, json};

use super::Translator;
use super::permission;
use super::wire::Wire;

impl Translator {
    pub(super) fn asked(&mut self, task: TaskId, ask: Ask) -> Vec<Wire> {
        let whose = self.whose(task);
        let told = self.question(&ask);
        self.asks.insert(ask.id, ask.subject);
        vec![told.of(whose)]
    }

    /// What clients are told of an ask that waits, now or again.
    pub(crate) fn question(&self, ask: &Ask) -> Wire {
        let request = ask.id.to_string();
        match &ask.subject {
            Subject::Permission { tool, input, reason, rules } => {
                let content = json!({
                    "requestId": request,
                    "permissionRequest": permission::request(&ask.call, tool, input, reason, !rules.is_empty()),
                    "agentMode": self.mode.to_string(),
                    "permissionMode": "manual",
                    "ownerSessionId": self.called,
                });
                Wire::kept("permission.requested", content)
            }
            Subject::Question { question, choices } => {
                let mut content = json!({
                    "requestId": request,
                    "question": question,
                    "allowFreeform": choices.is_empty(),
                    "toolCallId": ask.call.to_string(),
                });
                if !choices.is_empty() {
                    content["choices"] = json!(choices);
                }
                Wire::told("user_input.requested", content)
            }
            Subject::Plan { summary, plan, actions, recommended, .. } => {
                let actions: Vec<&str> = actions.iter().map(|action| action.word()).collect();
                let content = json!({
                    "requestId": request,
                    "summary": summary,
                    "planContent": plan,
                    "actions": actions,
                    "recommendedAction": recommended.word(),
                });
                Wire::told("exit_plan_mode.requested", content)
            }
        }
    }

    pub(super) fn decided(
        &mut self,
        task: TaskId,
        ask: &AskId,
        call: &CallId,
        decision: Decision,
        by: DecidedBy,
    ) -> Vec<Wire> {
        let whose = self.whose(task);
        let request = ask.to_string();
        let Some(subject) = self.asks.remove(ask) else { return Vec::new() };
        let told = match subject {
            Subject::Permission { .. } => {
                let result = ruled(decision, by);
                let content = json!({ "requestId": request, "toolCallId": call.to_string(), "result": result });
                Wire::kept("permission.completed", content)
            }
            Subject::Question { choices, .. } => {
                let mut content = json!({ "requestId": request });
                if let Decision::Reply { text } = decision {
                    content["wasFreeform"] = (!choices.contains(&text)).into();
                    content["answer"] = text.into();
                }
                Wire::told("user_input.completed", content)
            }
            Subject::Plan { .. } => {
                let mut content = json!({ "requestId": request, "approved": false });
                match decision {
                    Decision::Proceed { action } => {
                        content["approved"] = true.into();
                        content["selectedAction"] = action.word().into();
                    }
                    Decision::Deny { words } => content["feedback"] = words.into(),
                    Decision::Allow { .. } | Decision::Reply { .. } => {}
                }
                Wire::told("exit_plan_mode.completed", content)
            }
        };
        vec![told.of(whose)]
    }
}

fn ruled(decision: Decision, by: DecidedBy) -> Value {
    match (decision, by) {
        (Decision::Allow { .. } | Decision::Reply { .. } | Decision::Proceed { .. }, _) => {
            json!({ "kind": "approved" })
        }
        (Decision::Deny { .. }, DecidedBy::Deadline) => {
            json!({ "kind": "denied-no-approval-rule-and-could-not-request-from-user" })
        }
        (Decision::Deny { words }, DecidedBy::User) => {
            json!({ "kind": "denied-interactively-by-user", "feedback": words })
        }
    }
}
