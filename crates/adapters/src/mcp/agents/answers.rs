//! Decisions of a client for the user: what waits becomes a form, and the filled form becomes a decision.

use std::time::Duration;

use client::{ClientError, SessionHandle};
use protocol::api::{AskView, CommandFate, CommandOutcome, DecideParams, SessionCommand};
use protocol::{AskDecision, AskSubject, PlanAction};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::arguments::AgentToolError;

/// Maximum bytes of a call's arguments, or of a plan, in a question.
const MAX_SHOWN_BYTES: usize = 4000;

/// How many asks are shown at once.
pub(super) const MAX_ASKS: usize = 50;

/// The field of a form with the decision.
const DECISION: &str = "decision";

/// The field of a form with an answer, or with a message for the agent.
const TEXT: &str = "text";

/// The choice that denies.
const DENY: &str = "deny";

/// What is asked, for people and models.
pub(super) fn question(ask: &AskView) -> String {
    let path = &ask.path;
    let shown = |text: &str| protocol::clip_middle(text, MAX_SHOWN_BYTES);
    match &ask.ask.subject {
        AskSubject::Permission { tool, input, reason, rules: _ } => {
            format!("The agent {path} wants to call {tool}: {}\n{}", shown(input), shown(reason))
        }
        AskSubject::Question { question, choices: _ } => format!("The agent {path} asks: {}", shown(question)),
        AskSubject::Plan { summary, plan, .. } => {
            format!("The agent {path} has a plan: {}\n{}", shown(summary), shown(plan))
        }
    }
}

/// The decisions to choose from; none if the answer is a free text.
pub(super) fn choices(ask: &AskView) -> Vec<String> {
    match &ask.ask.subject {
        AskSubject::Permission { .. } => vec!["allow".into(), DENY.into()],
        AskSubject::Question { choices, .. } => choices.clone(),
        AskSubject::Plan { actions, .. } => {
            actions.iter().map(|action| action.as_str().to_owned()).chain([DENY.to_owned()]).collect()
        }
    }
}

/// The requests for forms, by the ids of the asks.
pub(super) fn forms(asks: &[AskView]) -> Map<String, Value> {
    asks.iter().take(MAX_ASKS).map(|ask| (ask.ask.id.to_string(), form(ask))).collect()
}

fn form(ask: &AskView) -> Value {
    let text = json!({ "type": "string", "description": "An answer, or a message for the agent" });
    let choices = choices(ask);
    let (properties, required) = match choices.is_empty() {
        true => (json!({ TEXT: text }), TEXT),
        false => (json!({ DECISION: { "type": "string", "enum": choices }, TEXT: text }), DECISION),
    };
    let schema = json!({ "type": "object", "properties": properties, "required": [required] });
    let params = json!({ "mode": "form", "message": question(ask), "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

/// The decision in a form that the client returned; none if its user did not decide.
pub(super) fn decision_of_form(ask: &AskView, response: &Value) -> Option<Result<AskDecision, AgentToolError>> {
    match response["action"].as_str() {
        Some("accept") => {
            let content = &response["content"];
            Some(decision(ask, content[DECISION].as_str(), content[TEXT].as_str()))
        }
        Some("decline") => Some(Ok(AskDecision::Deny { message: "the user declined".into() })),
        Some(_) | None => None,
    }
}

/// The decision of these words on an ask.
pub(super) fn decision(ask: &AskView, chosen: Option<&str>, text: Option<&str>) -> Result<AskDecision, AgentToolError> {
    let message = text.unwrap_or_default().to_owned();
    let unknown = || {
        let choices = choices(ask).join(", ");
        AgentToolError::refused(format!("the decision on this ask is one of: {choices}"))
    };
    match (&ask.ask.subject, chosen) {
        (_, Some(DENY)) => Ok(AskDecision::Deny { message }),
        (AskSubject::Permission { .. }, Some("allow")) => Ok(AskDecision::Allow { rules: Vec::new(), input: None }),
        (AskSubject::Permission { .. }, _) => Err(unknown()),
        (AskSubject::Question { .. }, Some(answer)) => Ok(AskDecision::Reply { text: answer.to_owned() }),
        (AskSubject::Question { .. }, None) if !message.is_empty() => Ok(AskDecision::Reply { text: message }),
        (AskSubject::Question { .. }, None) => Err(AgentToolError::refused("a question needs an answer as `text`")),
        (AskSubject::Plan { .. }, chosen) => {
            let action = chosen.and_then(PlanAction::from_name).ok_or_else(unknown)?;
            Ok(AskDecision::Proceed { action })
        }
    }
}

/// Decides on an ask.
pub(super) async fn decide(
    session: &SessionHandle,
    ask: &AskView,
    decision: AskDecision,
) -> Result<CommandFate, AgentToolError> {
    let command = SessionCommand::Decide(DecideParams { ask: ask.ask.id.clone(), decision });
    give(session, &command).await
}

/// Gives a session a command. One that is just being closed takes it a moment later.
pub(super) async fn give(session: &SessionHandle, command: &SessionCommand) -> Result<CommandFate, AgentToolError> {
    let until = Instant::now() + CLOSE_TIME;
    loop {
        match session.give(command).await {
            // A process that does not answer at all takes longer than this, and may have taken the command.
            Err(ClientError::NoAnswer { .. }) if Instant::now() < until => tokio::time::sleep(CLOSE_PAUSE).await,
            Ok(CommandFate::Answered { outcome: CommandOutcome::Refused { message, .. } }) => {
                return Err(AgentToolError::Refused(message));
            }
            fate => return Ok(fate?),
        }
    }
}

/// Decides on the asks that the forms of a client are about; forms about others are ignored.
pub(super) async fn decide_forms(
    session: &SessionHandle,
    responses: &Map<String, Value>,
) -> Result<(), AgentToolError> {
    for ask in open_asks(session).await? {
        let response = responses.get(ask.ask.id.0.as_str());
        if let Some(decision) = response.and_then(|response| decision_of_form(&ask, response)) {
            decide(session, &ask, decision?).await?;
        }
    }
    Ok(())
}

/// The asks that wait, oldest first.
pub(super) async fn open_asks(session: &SessionHandle) -> Result<Vec<AskView>, AgentToolError> {
    Ok(session.read(|stored| Ok(stored.open_asks()?)).await?)
}

/// How long a session may take to close, and how soon it is asked again.
pub(super) const CLOSE_TIME: Duration = Duration::from_secs(2);
pub(super) const CLOSE_PAUSE: Duration = Duration::from_millis(50);

/// How long a session may take to answer.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(subject: Value) -> AskView {
        serde_json::from_value(json!({
            "session": "ses-01900000-0000-7000-8000-000000000001", "number": 1,
            "task": "task-01900000-0000-7000-8000-000000000002", "path": "/root", "askedAt": 1,
            "ask": { "id": "a", "call": "c", "subject": subject, "untilAt": null }, "state": { "type": "open" },
        }))
        .unwrap()
    }

    fn accept(content: Value) -> Value {
        json!({ "action": "accept", "content": content })
    }

    #[test]
    fn a_filled_form_is_a_decision() {
        let call = ask(json!({ "type": "permission", "tool": "shell", "input": "{}", "reason": "r", "rules": [] }));
        let question = ask(json!({ "type": "question", "question": "q", "choices": ["a", "b"] }));
        let open = ask(json!({ "type": "question", "question": "q", "choices": [] }));
        let decided = |ask: &AskView, response: Value| decision_of_form(ask, &response).map(Result::ok);
        let allow = AskDecision::Allow { rules: Vec::new(), input: None };
        assert_eq!(decided(&call, accept(json!({ "decision": "allow" }))), Some(Some(allow)));
        let deny = AskDecision::Deny { message: "no".into() };
        assert_eq!(decided(&call, accept(json!({ "decision": "deny", "text": "no" }))), Some(Some(deny)));
        let reply = |text: &str| Some(Some(AskDecision::Reply { text: text.into() }));
        assert_eq!(decided(&question, accept(json!({ "decision": "b" }))), reply("b"));
        assert_eq!(decided(&open, accept(json!({ "text": "c" }))), reply("c"));
        assert_eq!(decided(&call, accept(json!({ "decision": "perhaps" }))), Some(None));
        assert_eq!(decided(&call, accept(json!({}))), Some(None), "nothing is not a permission");
        assert_eq!(decided(&open, accept(json!({}))), Some(None));
        assert!(matches!(decided(&call, json!({ "action": "decline" })), Some(Some(AskDecision::Deny { .. }))));
        assert_eq!(decided(&call, json!({ "action": "cancel" })), None);
        assert_eq!(decided(&call, json!(5)), None);
        let form = &forms(&[open])["a"]["params"]["requestedSchema"];
        assert_eq!(form["required"], json!(["text"]));
    }
}
