//! The end of a task, and the questions of its server before that.

use std::sync::Arc;
use std::time::Duration;

use protocol::{McpTaskForm, McpTaskStatus, clip_middle};
use serde_json::{Map, Value};
use tools::{RemoteOutcome, RemoteTaskEnd};

use super::created_task::task_params;
use super::follower::{MAX_MESSAGE_BYTES, POLL_TIMEOUT, PollFailure, RemoteTaskFollower};
use crate::elicitation::{McpElicitor, SessionElicitor};
use crate::link::ServerRequest;
use crate::tool::{self, refusal_text};
use crate::{McpError, McpServer, content};

/// How long the server may take to answer `tasks/result`, which waits until the task has ended.
const RESULT_TIMEOUT: Duration = Duration::from_secs(60 * 60);

impl RemoteTaskFollower<'_> {
    /// The end of a task that has a result or an error.
    pub(super) async fn fetch_outcome(
        &mut self,
        server: &McpServer,
        mut state: Map<String, Value>,
    ) -> Result<RemoteTaskEnd, PollFailure> {
        match self.task.remote.form {
            McpTaskForm::Session => self.fetch_result(server, POLL_TIMEOUT, None).await,
            McpTaskForm::Extension => {
                if let Some(error) = state.get("error").and_then(Value::as_object) {
                    let code = error.get("code").and_then(Value::as_i64).unwrap_or(0);
                    let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
                    let message = clip_middle(message, MAX_MESSAGE_BYTES);
                    let server = self.slot.name().to_owned();
                    return Ok(self.failed(&McpError::Refused { server, method: "tools/call", code, message }));
                }
                match state.get_mut("result").map(Value::take) {
                    Some(Value::Object(result)) => Ok(self.end_of(server, &result)),
                    Some(_) | None => {
                        let what = "the task has ended without a `result`";
                        Ok(self.failed(&server.link().malformed("tasks/get", what)))
                    }
                }
            }
        }
    }

    /// Asks for the result in the older form of the protocol, which waits until the task has ended.
    async fn fetch_result(
        &mut self,
        server: &McpServer,
        time_limit: Duration,
        elicitor: Option<Arc<dyn McpElicitor>>,
    ) -> Result<RemoteTaskEnd, PollFailure> {
        let params = task_params(&self.task.remote.id);
        let request = ServerRequest { elicitor, ..ServerRequest::new("tasks/result", params, time_limit) };
        match server.link().request(request).await {
            Ok(result) => Ok(self.end_of(server, &result)),
            // The error of the call itself, if the task has failed; the next poll tells.
            Err(error @ McpError::Refused { .. }) => match self.report.status {
                McpTaskStatus::Failed => Ok(self.failed(&error)),
                McpTaskStatus::InputRequired => Err(PollFailure::Temporary(error.to_string())),
                McpTaskStatus::Working | McpTaskStatus::Completed | McpTaskStatus::Cancelled | McpTaskStatus::Lost => {
                    Err(self.failure_of(&error))
                }
            },
            Err(error) => Err(self.failure_of(&error)),
        }
    }

    /// Asks the user what the server asks. The server of the older form asks while it answers the request for the
    /// result; that of the newer form gets the answers in a request of their own.
    pub(super) async fn answer_questions(
        &mut self,
        server: &McpServer,
        state: &Map<String, Value>,
    ) -> Result<Option<RemoteTaskEnd>, PollFailure> {
        let elicitor =
            Arc::new(SessionElicitor { prompter: Arc::clone(&self.cx.prompter), model: None }) as Arc<dyn McpElicitor>;
        if self.task.remote.form == McpTaskForm::Session {
            let ended = self.fetch_result(server, RESULT_TIMEOUT, Some(elicitor)).await;
            self.cx.observer.answers_sent().await;
            return ended.map(Some);
        }
        let Some(requests) = state.get("inputRequests").and_then(Value::as_object) else {
            return Err(PollFailure::Temporary("the task needs input but has no `inputRequests`".into()));
        };
        let is_new = |key: &String| !self.answered.contains(key) && !self.unsent.contains_key(key);
        let new = requests.iter().filter(|(key, _)| is_new(key));
        let new: Map<String, Value> = new.map(|(key, request)| (key.clone(), request.clone())).collect();
        let answers = server.link().answer_inputs("tasks/get", &new, Some(&elicitor)).await;
        self.unsent.extend(answers.map_err(|error| PollFailure::Final(error.to_string()))?);
        if self.unsent.is_empty() {
            return Ok(self.expiry());
        }
        let mut params = task_params(&self.task.remote.id);
        params.insert("inputResponses".into(), Value::Object(self.unsent.clone()));
        let request = ServerRequest::new("tasks/update", params, POLL_TIMEOUT);
        server.link().request(request).await.map_err(|error| self.failure_of(&error))?;
        self.answered.extend(std::mem::take(&mut self.unsent).into_iter().map(|(key, _)| key));
        self.cx.observer.answers_sent().await;
        Ok(None)
    }

    pub(super) fn lost(&mut self, why: &str) -> RemoteTaskEnd {
        let why = clip_middle(why, MAX_MESSAGE_BYTES);
        let text = format!(
            "the MCP server `{}` lost the task `{}`: {why}; it is unknown whether it was done",
            self.slot.name(),
            self.task.remote.id
        );
        (self.report.status, self.report.message) = (McpTaskStatus::Lost, Some(why));
        RemoteTaskEnd { outcome: RemoteOutcome::Lost, text }
    }

    pub(super) fn cancelled(&self) -> RemoteTaskEnd {
        let why = self.report.message.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let text = format!("the MCP server `{}` cancelled the task `{}`{why}", self.slot.name(), self.task.remote.id);
        RemoteTaskEnd { outcome: RemoteOutcome::Cancelled, text }
    }

    fn failed(&mut self, error: &McpError) -> RemoteTaskEnd {
        self.report.status = McpTaskStatus::Failed;
        RemoteTaskEnd { outcome: RemoteOutcome::Failed, text: refusal_text(&self.task.spec.tool, error) }
    }

    /// The end of a task with this result of its call.
    fn end_of(&mut self, server: &McpServer, result: &Map<String, Value>) -> RemoteTaskEnd {
        match content::read_result(result, server.max_text_bytes()) {
            Ok(result) => {
                let end = tool::end_of_call(result);
                self.report.status = match end.outcome {
                    RemoteOutcome::Completed => McpTaskStatus::Completed,
                    RemoteOutcome::Failed | RemoteOutcome::Cancelled | RemoteOutcome::Lost => McpTaskStatus::Failed,
                };
                end
            }
            Err(what) => self.failed(&server.link().malformed("tools/call", what)),
        }
    }
}
