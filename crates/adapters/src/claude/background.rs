//! Work that waits for the client or its hooks while the conversation continues.

use std::sync::Arc;

use protocol::api::{InvokeSlashParams, InvokeSlashResult, Method, PromptSuggestion, SendParams, SendResult};
use protocol::{Ask, MailDelivery, MailId, TaskId};
use rpc::{CallError, RpcClient};
use serde_json::{Value, json};

use super::permission_requests::{self, ClientDecision};
use super::prompt::ClientPrompt;
use super::wire::ControlChannel;

/// The outcome of background work.
#[derive(Debug)]
pub(super) enum BackgroundOutcome {
    /// A message was accepted.
    Sent {
        /// The message, as it is replayed to the client.
        frame: Value,
        /// The message, as the session knows it.
        mail: MailId,
    },
    /// The agent was reminded to give its answer.
    Reminded,
    /// A slash command returned output, and no turn follows.
    CommandOutput(String),
    /// A message was refused.
    Refused(String),
    /// The client decided.
    Decided {
        /// The task that made the call.
        task: TaskId,
        /// The ask.
        ask: Box<Ask>,
        /// The decision.
        verdict: ClientDecision,
    },
    /// A request of the client is answered.
    Requested {
        /// The request.
        id: String,
        /// The answer, or an error text.
        answer: Result<Value, String>,
    },
    /// What the user may say next.
    Suggested(String),
    /// Nothing is obvious, or the model did not answer.
    NotSuggested,
    /// The client disconnected without deciding.
    Unanswered,
}

/// Sends a message. A slash command is run first, and may lead to another message or to none.
pub(super) async fn send_prompt(api: Arc<RpcClient>, prompt: ClientPrompt, is_slash: bool) -> BackgroundOutcome {
    let message = match prompt.slash_command().filter(|_| is_slash) {
        None => Ok(prompt.send_params()),
        Some((name, input)) => match invoke(&api, name, input).await {
            Ok(InvokeSlashResult::AgentPrompt { prompt: text, display_prompt, .. }) => {
                Ok(SendParams { text, display: Some(display_prompt), ..prompt.send_params() })
            }
            Ok(InvokeSlashResult::Text { text }) => return BackgroundOutcome::CommandOutput(text),
            Ok(InvokeSlashResult::Completed { message, .. } | InvokeSlashResult::FleetStarted { message }) => {
                return BackgroundOutcome::CommandOutput(message);
            }
            Err(error) => Err(error),
        },
    };
    let sent = match message {
        Ok(message) => api.call::<SendResult>(Method::SessionSend, message).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(SendResult { mail }) => BackgroundOutcome::Sent { frame: prompt.frame, mail },
        Err(error) => BackgroundOutcome::Refused(error_text(error)),
    }
}

/// Reminds the agent to give its answer.
pub(super) async fn remind(api: Arc<RpcClient>, text: &str) -> BackgroundOutcome {
    let message = SendParams {
        task: None,
        text: text.into(),
        images: Vec::new(),
        delivery: MailDelivery::FollowUp,
        display: None,
    };
    match api.call::<SendResult>(Method::SessionSend, message).await {
        Ok(_receipt) => BackgroundOutcome::Reminded,
        Err(error) => BackgroundOutcome::Refused(error_text(error)),
    }
}

/// Asks what the user may say next.
pub(super) async fn suggest_prompt(api: Arc<RpcClient>) -> BackgroundOutcome {
    match api.call::<PromptSuggestion>(Method::PromptSuggest, json!({})).await {
        Ok(PromptSuggestion { text: Some(text) }) => BackgroundOutcome::Suggested(text),
        Ok(PromptSuggestion { text: None }) => BackgroundOutcome::NotSuggested,
        Err(error) => {
            tracing::info!(%error, "there is no suggestion for the user");
            BackgroundOutcome::NotSuggested
        }
    }
}

/// The error of a call as text for people, without its code.
pub(super) fn error_text(error: CallError) -> String {
    match error {
        CallError::Refused(refusal) => refusal.in_one_line(),
        error @ (CallError::Closed(_) | CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
            error.to_string()
        }
    }
}

async fn invoke(api: &RpcClient, name: &str, input: &str) -> Result<InvokeSlashResult, CallError> {
    api.call(Method::CommandsInvoke, InvokeSlashParams { name: name.to_owned(), input: input.to_owned() }).await
}

/// Sends an ask to the client.
pub(super) async fn ask_client(
    control: Arc<ControlChannel>,
    task: TaskId,
    ask: Ask,
    agent: Option<String>,
) -> BackgroundOutcome {
    let answer = control.request(permission_requests::permission_request(&ask, agent)).await;
    let verdict = match answer {
        Ok(answer) => permission_requests::read_decision(&ask, &answer),
        // An undecided ask stays open for the next client.
        Err(_) if control.is_closed() => return BackgroundOutcome::Unanswered,
        Err(error) => ClientDecision::deny(format!("the client could not decide: {error}")),
    };
    BackgroundOutcome::Decided { task, ask: Box::new(ask), verdict }
}
