//! What only a client can answer: the model's questions, and whether a plan is good.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use protocol::api::{DecideParams, Method};
use protocol::{Ask, AskDecision, AskSubject, PlanAction};
use serde_json::{Value, json};

use super::hosted_session::HostedSession;
use super::session_clients::SessionClient;
use super::session_watcher::SessionWatcher;
use crate::decision::fallback_decision;

impl SessionWatcher {
    /// Has an ask decided that this client, or nobody, is there for. Permissions wait for whoever decides on them.
    pub(super) fn put(&mut self, ask: Ask) {
        if self.put.contains(&ask.id) {
            return;
        }
        let held = Arc::clone(&self.session);
        let is_mine = |can: Option<Arc<SessionClient>>| can.is_some_and(|member| Arc::ptr_eq(&member, &self.member));
        let Ask { id, subject, .. } = ask;
        let member = Arc::clone(&self.member);
        let session = held.called().to_owned();
        match subject {
            AskSubject::Permission { .. } => {
                if held.approves_all.load(Ordering::Acquire) {
                    let decision = AskDecision::Allow { rules: Vec::new(), input: None };
                    self.put.insert(id.clone());
                    self.questions.spawn(async move {
                        decide(&held, DecideParams { ask: id, decision }).await;
                    });
                }
            }
            AskSubject::Question { question, choices } => {
                if is_mine(held.clients.newest_with(|abilities| abilities.user_input)) {
                    self.put.insert(id.clone());
                    self.questions.spawn(async move {
                        let decision = ask_user(&member, &session, &question, &choices).await;
                        decide(&held, DecideParams { ask: id, decision }).await;
                    });
                }
            }
            subject @ AskSubject::Plan { .. } => {
                let able = held.clients.newest_with(|abilities| abilities.exit_plan);
                let nobody = able.is_none();
                if is_mine(able) {
                    self.put.insert(id.clone());
                    self.questions.spawn(async move {
                        let decision = ask_plan(&member, &session, &subject).await;
                        decide(&held, DecideParams { ask: id, decision }).await;
                    });
                } else if nobody && is_mine(held.clients.newest_with(|_| true)) {
                    let decision = subject.default_decision();
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
pub(crate) async fn decide(held: &HostedSession, DecideParams { ask, decision }: DecideParams) -> bool {
    let mut is_first = true;
    let mut next = Some(decision);
    while let Some(decision) = next.take() {
        let params = DecideParams { ask: ask.clone(), decision: decision.clone() };
        match held.call::<Value>(Method::AsksDecide, params).await {
            Ok(_decided) => return is_first,
            Err(error) => {
                tracing::debug!(%error, "a decision was not taken");
                next = fallback_decision(decision, &error);
            }
        }
        is_first = false;
    }
    false
}

async fn ask_user(member: &SessionClient, session: &str, question: &str, choices: &[String]) -> AskDecision {
    let mut params = json!({ "sessionId": session, "question": question, "allowFreeform": choices.is_empty() });
    if !choices.is_empty() {
        params["choices"] = json!(choices);
    }
    match member.peer.request("userInput.request", params).await {
        Ok(answer) => match answer["answer"].as_str() {
            Some(text) => AskDecision::Reply { text: text.to_owned() },
            None => AskDecision::Deny { message: String::new() },
        },
        Err(error) => AskDecision::Deny { message: error.message },
    }
}

async fn ask_plan(member: &SessionClient, session: &str, subject: &AskSubject) -> AskDecision {
    let AskSubject::Plan { summary, plan, actions, recommended, .. } = subject else {
        return subject.default_decision();
    };
    let words: Vec<&str> = actions.iter().map(|action| action.as_str()).collect();
    let params = json!({
        "sessionId": session,
        "summary": summary,
        "planContent": plan,
        "actions": words,
        "recommendedAction": recommended.as_str(),
    });
    match member.peer.request("exitPlanMode.request", params).await {
        Ok(answer) => plan_decision(&answer, *recommended),
        Err(error) => AskDecision::Deny { message: error.message },
    }
}

/// A client's word on a plan.
pub(crate) fn plan_decision(answer: &Value, recommended: PlanAction) -> AskDecision {
    if answer["approved"] != true {
        return AskDecision::Deny { message: answer["feedback"].as_str().unwrap_or_default().to_owned() };
    }
    let chosen = answer["selectedAction"].as_str();
    let named = |action: &PlanAction| Some(action.as_str()) == chosen;
    AskDecision::Proceed { action: PlanAction::ALL.into_iter().find(named).unwrap_or(recommended) }
}
