//! Work that waits for the client or for its hooks, while the talk goes on.

use std::sync::Arc;

use protocol::api::{InvokeParams, InvokeResult, Method, SendParams, SendResult};
use protocol::{Ask, Delivery, TaskId};
use rpc::{CallError, Client};
use serde_json::Value;

use super::asks::{self, Verdict};
use super::prompt::Prompt;
use super::wire::Control;

/// What came of a chore.
#[derive(Debug)]
pub(super) enum Chore {
    /// A message was taken.
    Sent {
        /// It, as the client gets it back.
        frame: Value,
    },
    /// The agent was told to give its answer.
    Insisted,
    /// A slash command told something, and no turn follows.
    Told(String),
    /// A message was not taken.
    Refused(String),
    /// The client decided.
    Decided {
        /// Whose call it was about.
        task: TaskId,
        /// What it was about.
        ask: Box<Ask>,
        /// What it decided.
        verdict: Verdict,
    },
    /// The client will not decide.
    Unanswered,
}

/// Sends a message. A slash command is run first, and may lead to another message or to none.
pub(super) async fn send(api: Arc<Client>, prompt: Prompt, is_slash: bool) -> Chore {
    let message = match prompt.slash().filter(|_| is_slash) {
        None => Ok(prompt.message()),
        Some((name, input)) => match invoke(&api, name, input).await {
            Ok(InvokeResult::AgentPrompt { prompt: text, display_prompt, .. }) => {
                Ok(SendParams { text, display: Some(display_prompt), ..prompt.message() })
            }
            Ok(InvokeResult::Text { text }) => return Chore::Told(text),
            Ok(InvokeResult::Completed { message, .. }) => return Chore::Told(message),
            Err(error) => Err(error),
        },
    };
    let sent = match message {
        Ok(message) => api.call::<SendResult>(Method::SessionSend, message).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(_receipt) => Chore::Sent { frame: prompt.frame },
        Err(error) => Chore::Refused(in_words(error)),
    }
}

/// Tells the agent to give its answer.
pub(super) async fn insist(api: Arc<Client>, words: &str) -> Chore {
    let message =
        SendParams { task: None, text: words.into(), images: Vec::new(), delivery: Delivery::FollowUp, display: None };
    match api.call::<SendResult>(Method::SessionSend, message).await {
        Ok(_receipt) => Chore::Insisted,
        Err(error) => Chore::Refused(in_words(error)),
    }
}

/// Why a call has no result, for a person: without the number that tells programs the same.
pub(super) fn in_words(error: CallError) -> String {
    match error {
        CallError::Refused(refusal) => refusal.message,
        error @ (CallError::Closed(_) | CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
            error.to_string()
        }
    }
}

async fn invoke(api: &Client, name: &str, input: &str) -> Result<InvokeResult, CallError> {
    api.call(Method::CommandsInvoke, InvokeParams { name: name.to_owned(), input: input.to_owned() }).await
}

/// Puts an ask to the client.
pub(super) async fn ask(control: Arc<Control>, task: TaskId, ask: Ask, agent: Option<String>) -> Chore {
    let answer = control.ask(asks::request(&ask, agent)).await;
    let verdict = match answer {
        Ok(answer) => asks::verdict(&ask, &answer),
        // What nobody decided stays open for whoever comes next.
        Err(_) if control.is_silent() => return Chore::Unanswered,
        Err(error) => Verdict::no(format!("the client could not decide: {error}")),
    };
    Chore::Decided { task, ask: Box::new(ask), verdict }
}
