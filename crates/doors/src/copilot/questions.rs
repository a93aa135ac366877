//! What only a client can answer: the model's questions, and whether a plan is good.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use protocol::api::{DecideParams, Method};
use protocol::{Ask, Decision, PlanAction, Subject};
use serde_json::{Value, json};

use super::audience::Member;
use super::held::Held;
use super::watch::Watch;
use crate::decision::instead;

impl Watch {
    /// Has an ask decided that this client, or nobody, is there for. Permissions wait for whoever decides on them.
    pub(super) fn put(&mut self, ask: Ask) {
        if self.put.contains(&ask.id) {
            return;
        }
        let held = Arc::clone(&self.held);
        let is_mine = |can: Option<Arc<Member>>| can.is_some_and(|member| Arc::ptr_eq(&member, &self.member));
        let Ask { id, subject, .. } = ask;
        let member = Arc::clone(&self.member);
        let session = held.called().to_owned();
        match subject {
            Subject::Permission { .. } => {
                if held.approves_all.load(Ordering::Acquire) {
                    let decision = Decision::Allow { rules: Vec::new(), input: None };
                    self.put.insert(id.clone());
                    self.questions.spawn(async move {
                        decide(&held, DecideParams { ask: id, decision }).await;
                    });
                }
            }
            Subject::Question { question, choices } => {
                if is_mine(held.audience.who(|abilities| abilities.user_input)) {
                    self.put.insert(id.clone());
                    self.questions.spawn(async move {
                        let decision = ask_user(&member, &session, &question, &choices).await;
                        decide(&held, DecideParams { ask: id, decision }).await;
                    });
                }
            }
            subject @ Subject::Plan { .. } => {
                let able = held.audience.who(|abilities| abilities.exit_plan);
                let nobody = able.is_none();
                if is_mine(able) {
                    self.put.insert(id.clone());
                    self.questions.spawn(async move {
                        let decision = ask_plan(&member, &session, &subject).await;
                        decide(&held, DecideParams { ask: id, decision }).await;
                    });
                } else if nobody && is_mine(held.audience.who(|_| true)) {
                    let decision = subject.by_default();
                    self.put.insert(id.clone());
                    self.questions.spawn(async move {
                        decide(&held, DecideParams { ask: id, decision }).await;
                    });
                }
            }
        }
    }
}

/// Decides on an ask; says whether the decision was taken as it is. Another client may have decided first.
pub(crate) async fn decide(held: &Held, DecideParams { ask, decision }: DecideParams) -> bool {
    let mut is_first = true;
    let mut next = Some(decision);
    while let Some(decision) = next.take() {
        let params = DecideParams { ask: ask.clone(), decision: decision.clone() };
        match held.call::<Value>(Method::AsksDecide, params).await {
            Ok(_decided) => return is_first,
            Err(error) => {
                tracing::debug!(%error, "a decision was not taken");
                next = instead(decision, &error);
            }
        }
        is_first = false;
    }
    false
}

async fn ask_user(member: &Member, session: &str, question: &str, choices: &[String]) -> Decision {
    let mut params = json!({ "sessionId": session, "question": question, "allowFreeform": choices.is_empty() });
    if !choices.is_empty() {
        params["choices"] = json!(choices);
    }
    match member.peer.ask("userInput.request", params).await {
        Ok(answer) => match answer["answer"].as_str() {
            Some(text) => Decision::Reply { text: text.to_owned() },
            None => Decision::Deny { words: String::new() },
        },
        Err(error) => Decision::Deny { words: error.message },
    }
}

async fn ask_plan(member: &Member, session: &str, subject: &Subject) -> Decision {
    let Subject::Plan { summary, plan, actions, recommended, .. } = subject else { return subject.by_default() };
    let words: Vec<&str> = actions.iter().map(|action| action.word()).collect();
    let params = json!({
        "sessionId": session,
        "summary": summary,
        "planContent": plan,
        "actions": words,
        "recommendedAction": recommended.word(),
    });
    match member.peer.ask("exitPlanMode.request", params).await {
        Ok(answer) => on_plan(&answer, *recommended),
        Err(error) => Decision::Deny { words: error.message },
    }
}

/// A client's word on a plan.
pub(crate) fn on_plan(answer: &Value, recommended: PlanAction) -> Decision {
    if answer["approved"] != true {
        return Decision::Deny { words: answer["feedback"].as_str().unwrap_or_default().to_owned() };
    }
    let chosen = answer["selectedAction"].as_str();
    let named = |action: &PlanAction| Some(action.word()) == chosen;
    Decision::Proceed { action: PlanAction::ALL.into_iter().find(named).unwrap_or(recommended) }
}
