//! Work that waits for the client or for its hooks, while the talk goes on.

use std::sync::Arc;

use protocol::api::{InvokeSlashParams, InvokeSlashResult, Method, SendParams, SendResult};
use protocol::{Ask, MailDelivery, TaskId};
use rpc::{CallError, RpcClient};
use serde_json::Value;

use super::permission_requests::{self, ClientDecision};
use super::prompt::ClientPrompt;
use super::wire::ControlChannel;

/// What came of background work.
#[derive(Debug)]
pub(super) enum BackgroundOutcome {
    /// A message was taken.
    Sent {
        /// It, as the client gets it back.
        frame: Value,
    },
    /// The agent was told to give its answer.
    Reminded,
    /// A slash command told something, and no turn follows.
    CommandOutput(String),
    /// A message was not taken.
    Refused(String),
    /// The client decided.
    Decided {
        /// Whose call it was about.
        task: TaskId,
        /// What it was about.
        ask: Box<Ask>,
        /// What it decided.
        verdict: ClientDecision,
    },
    /// The client will not decide.
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
            Ok(InvokeSlashResult::Completed { message, .. }) => return BackgroundOutcome::CommandOutput(message),
            Err(error) => Err(error),
        },
    };
    let sent = match message {
        Ok(message) => api.call::<SendResult>(Method::SessionSend, message).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(_receipt) => BackgroundOutcome::Sent { frame: prompt.frame },
        Err(error) => BackgroundOutcome::Refused(error_text(error)),
    }
}

/// Tells the agent to give its answer.
pub(super) async fn remind(api: Arc<RpcClient>, words: &str) -> BackgroundOutcome {
    let message = SendParams {
        task: None,
        text: words.into(),
        images: Vec::new(),
        delivery: MailDelivery::FollowUp,
        display: None,
    };
    match api.call::<SendResult>(Method::SessionSend, message).await {
        Ok(_receipt) => BackgroundOutcome::Reminded,
        Err(error) => BackgroundOutcome::Refused(error_text(error)),
    }
}

/// Why a call has no result, for a person: without the number that tells programs the same.
pub(super) fn error_text(error: CallError) -> String {
    match error {
        CallError::Refused(refusal) => refusal.message,
        error @ (CallError::Closed(_) | CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
            error.to_string()
        }
    }
}

async fn invoke(api: &RpcClient, name: &str, input: &str) -> Result<InvokeSlashResult, CallError> {
    api.call(Method::CommandsInvoke, InvokeSlashParams { name: name.to_owned(), input: input.to_owned() }).await
}

/// Puts an ask to the client.
pub(super) async fn ask_client(
    control: Arc<ControlChannel>,
    task: TaskId,
    ask: Ask,
    agent: Option<String>,
) -> BackgroundOutcome {
    let answer = control.request(permission_requests::request(&ask, agent)).await;
    let verdict = match answer {
        Ok(answer) => permission_requests::read_decision(&ask, &answer),
        // What nobody decided stays open for whoever comes next.
        Err(_) if control.is_closed() => return BackgroundOutcome::Unanswered,
        Err(error) => ClientDecision::deny(format!("the client could not decide: {error}")),
    };
    BackgroundOutcome::Decided { task, ask: Box::new(ask), verdict }
}
