//! Asks that a client decides: the model's questions, and plans.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use protocol::api::{AsksDecideParams, DecideParams, Method};
use protocol::{Ask, AskDecision, AskSubject, PlanAction};
use serde_json::{Value, json};

use super::hosted_session::HostedSession;
use super::session_clients::SessionClient;
use super::session_watcher::SessionWatcher;
use crate::decision::fallback_decision;

impl SessionWatcher {
    /// Sends a question or a plan to this client if it is the newest client that can answer it. If no client can decide
    /// on plans, the newest client applies the default. Permissions wait for any client's decision, unless a client has
    /// allowed every call.
    pub(super) fn send_ask(&mut self, ask: Ask) {
        if self.sent_asks.contains(&ask.id) {
            return;
        }
        let session = Arc::clone(&self.session);
        let is_this_client = |client: Option<Arc<SessionClient>>| {
            client.is_some_and(|client| Arc::ptr_eq(&client, &self.session_client))
        };
        let Ask { id, subject, .. } = ask;
        let client = Arc::clone(&self.session_client);
        let name = session.name_for_clients().to_owned();
        match subject {
            AskSubject::Permission { .. } => {
                if session.approves_all.load(Ordering::Acquire) {
                    let decision = AskDecision::Allow { rules: Vec::new(), input: None };
                    self.sent_asks.insert(id.clone());
                    self.questions.spawn(async move {
                        decide(&session, DecideParams { ask: id, decision }).await;
                    });
                }
            }
            AskSubject::Question { question, choices } => {
                if is_this_client(session.clients.newest_with(|capabilities| capabilities.user_input)) {
                    self.sent_asks.insert(id.clone());
                    self.questions.spawn(async move {
                        let decision = ask_user(&client, &name, &question, &choices).await;
                        decide(&session, DecideParams { ask: id, decision }).await;
                    });
                }
            }
            subject @ AskSubject::Plan { .. } => {
                let capable = session.clients.newest_with(|capabilities| capabilities.exit_plan);
                let none_capable = capable.is_none();
                if is_this_client(capable) {
                    self.sent_asks.insert(id.clone());
                    self.questions.spawn(async move {
                        let decision = ask_plan(&client, &name, &subject).await;
                        decide(&session, DecideParams { ask: id, decision }).await;
                    });
                } else if none_capable && is_this_client(session.clients.newest_with(|_| true)) {
                    let decision = subject.default_decision();
                    self.sent_asks.insert(id.clone());
                    self.questions.spawn(async move {
                        decide(&session, DecideParams { ask: id, decision }).await;
                    });
                }
            }
        }
    }
}

/// Decides an ask; returns whether the session accepted the decision unchanged. Another client may have decided first.
pub(crate) async fn decide(session: &HostedSession, DecideParams { ask, decision }: DecideParams) -> bool {
    let mut is_original = true;
    let mut next_decision = Some(decision);
    while let Some(decision) = next_decision.take() {
        let params = DecideParams { ask: ask.clone(), decision: decision.clone() };
        match session.call::<Value>(Method::AsksDecide, params).await {
            Ok(_decided) => return is_original,
            Err(error) => {
                tracing::debug!(%error, "the session refused a decision");
                next_decision = fallback_decision(decision, &error);
            }
        }
        is_original = false;
    }
    false
}

/// Decides an ask and ends the turn that it belongs to; returns whether the session accepted that.
pub(crate) async fn reject_turn(session: &HostedSession, decided: DecideParams) -> bool {
    let params = AsksDecideParams { decided, interrupt: true };
    session.call::<Value>(Method::AsksDecide, params).await.is_ok()
}

async fn ask_user(client: &SessionClient, session: &str, question: &str, choices: &[String]) -> AskDecision {
    let mut params = json!({ "sessionId": session, "question": question, "allowFreeform": choices.is_empty() });
    if !choices.is_empty() {
        params["choices"] = json!(choices);
    }
    match client.peer.request("userInput.request", params).await {
        Ok(answer) => match answer["answer"].as_str() {
            Some(text) => AskDecision::Reply { text: text.to_owned() },
            None => AskDecision::Deny { message: String::new() },
        },
        Err(error) => AskDecision::Deny { message: error.message },
    }
}

async fn ask_plan(client: &SessionClient, session: &str, subject: &AskSubject) -> AskDecision {
    let AskSubject::Plan { summary, plan, actions, recommended, .. } = subject else {
        return subject.default_decision();
    };
    let action_names: Vec<&str> = actions.iter().map(|action| action.as_str()).collect();
    let params = json!({
        "sessionId": session,
        "summary": summary,
        "planContent": plan,
        "actions": action_names,
        "recommendedAction": recommended.as_str(),
    });
    match client.peer.request("exitPlanMode.request", params).await {
        Ok(answer) => plan_decision(&answer, *recommended),
        Err(error) => AskDecision::Deny { message: error.message },
    }
}

/// Reads a client's decision on a plan.
pub(crate) fn plan_decision(answer: &Value, recommended: PlanAction) -> AskDecision {
    if answer["approved"] != true {
        return AskDecision::Deny { message: answer["feedback"].as_str().unwrap_or_default().to_owned() };
    }
    let chosen = answer["selectedAction"].as_str();
    let is_chosen = |action: &PlanAction| Some(action.as_str()) == chosen;
    AskDecision::Proceed { action: PlanAction::ALL.into_iter().find(is_chosen).unwrap_or(recommended) }
}
