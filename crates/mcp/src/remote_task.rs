//! Calls that become tasks of their server: polling until the result is there, in both forms of the protocol.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use crate::link::{ServerLink, ServerRequest};
use crate::server::CallOptions;
use crate::{McpError, McpRevision};

/// How long a task is kept by servers of the older form, in milliseconds.
pub(crate) const REQUESTED_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// The time between polls when the server does not say.
const DEFAULT_POLL: Duration = Duration::from_secs(1);

/// The shortest and longest time between polls, whatever the server says.
const MIN_POLL: Duration = Duration::from_millis(100);
const MAX_POLL: Duration = Duration::from_secs(30);

/// How long one poll may take.
const POLL_TIMEOUT: Duration = Duration::from_secs(30);

/// How often in a row a poll may fail to reach the server.
const MAX_FAILED_POLLS: u32 = 8;

/// The status of a task.
#[derive(Clone, Copy)]
enum TaskStatus {
    Working,
    NeedsInput,
    /// Completed or failed; both have a result or an error.
    Ended,
    Cancelled,
}

/// A task of a server that is being followed. Dropping it cancels the task.
pub(crate) struct RemoteTask<'a> {
    link: &'a ServerLink,
    id: String,
    state: Value,
    created: Instant,
    is_over: bool,
}

impl<'a> RemoteTask<'a> {
    /// The task in the result of a call, if the call became one.
    pub(crate) fn from_result(link: &'a ServerLink, result: &Map<String, Value>) -> Option<RemoteTask<'a>> {
        let state = match link.revision() {
            McpRevision::Stateless if result.get("resultType").is_some_and(|kind| kind == "task") => {
                Value::Object(result.clone())
            }
            McpRevision::Session => result.get("task").filter(|task| task["taskId"].is_string())?.clone(),
            McpRevision::Stateless => return None,
        };
        let id = state["taskId"].as_str()?.to_owned();
        Some(RemoteTask { link, id, state, created: Instant::now(), is_over: false })
    }

    /// Polls until the task has ended; returns the result of the call.
    pub(crate) async fn result(mut self, options: &CallOptions) -> Result<Map<String, Value>, McpError> {
        loop {
            match (self.status()?, self.link.revision()) {
                (TaskStatus::Ended, _) => return self.outcome().await,
                (TaskStatus::Cancelled, _) => {
                    self.is_over = true;
                    return Err(self.cancelled());
                }
                // The server asks while it answers this request.
                (TaskStatus::NeedsInput, McpRevision::Session) => {
                    return self.fetch_result(options.time_limit(), options).await;
                }
                (TaskStatus::NeedsInput, McpRevision::Stateless) => self.answer_inputs(options).await?,
                (TaskStatus::Working, _) => {}
            }
            self.require_unexpired()?;
            sleep(self.poll_interval()).await;
            self.poll().await?;
        }
    }

    fn status(&self) -> Result<TaskStatus, McpError> {
        match self.state["status"].as_str() {
            Some("completed" | "failed") => Ok(TaskStatus::Ended),
            Some("cancelled") => Ok(TaskStatus::Cancelled),
            Some("input_required") => Ok(TaskStatus::NeedsInput),
            Some(_working) => Ok(TaskStatus::Working),
            None => Err(self.link.malformed("tasks/get", "the task has no `status`")),
        }
    }

    /// Asks for the state of the task. A server that cannot be reached is asked again, less and less often.
    async fn poll(&mut self) -> Result<(), McpError> {
        let mut failures = 0;
        loop {
            match self.request("tasks/get", POLL_TIMEOUT).await {
                Ok(state) => {
                    self.state = Value::Object(state);
                    return Ok(());
                }
                Err(McpError::Refused { message, .. }) => return Err(self.lost(message)),
                Err(error @ (McpError::Unreachable { .. } | McpError::TimedOut { .. })) => {
                    failures += 1;
                    if failures > MAX_FAILED_POLLS || self.link.transport.closed().is_some() {
                        return Err(self.lost(error.to_string()));
                    }
                    sleep(MIN_POLL.saturating_mul(1 << failures).min(MAX_POLL)).await;
                    self.require_unexpired()?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The result of a task that has ended.
    async fn outcome(&mut self) -> Result<Map<String, Value>, McpError> {
        self.is_over = true;
        if self.link.revision() == McpRevision::Session {
            return self.fetch_result(POLL_TIMEOUT, &CallOptions::default()).await;
        }
        if let Some(error) = self.state["error"].as_object() {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or(0);
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
            let message = protocol::clip_middle(message, 500);
            return Err(McpError::Refused { server: self.link.server.clone(), method: "tools/call", code, message });
        }
        match self.state["result"].take() {
            Value::Object(result) => Ok(result),
            _other => Err(self.link.malformed("tasks/get", "the task has ended without a `result`")),
        }
    }

    /// Asks for the result in the older form of the protocol, which waits until the task has ended.
    async fn fetch_result(
        &mut self,
        time_limit: Duration,
        options: &CallOptions,
    ) -> Result<Map<String, Value>, McpError> {
        let params = Map::from_iter([("taskId".into(), self.id.as_str().into())]);
        let elicitor = options.elicitor.clone();
        let request = ServerRequest { method: "tasks/result", params, time_limit, elicitor };
        let result = self.link.request(request).await?;
        self.is_over = true;
        Ok(result)
    }

    async fn answer_inputs(&mut self, options: &CallOptions) -> Result<(), McpError> {
        let Some(requests) = self.state["inputRequests"].as_object() else {
            return Err(self.link.malformed("tasks/get", "the task needs input but has no `inputRequests`"));
        };
        let responses = self.link.answer_inputs("tasks/get", requests, options.elicitor.as_ref()).await?;
        let params = Map::from_iter([
            ("taskId".into(), self.id.as_str().into()),
            ("inputResponses".into(), Value::Object(responses)),
        ]);
        self.link.request(ServerRequest::new("tasks/update", params, POLL_TIMEOUT)).await.map(drop)
    }

    async fn request(&self, method: &'static str, time_limit: Duration) -> Result<Map<String, Value>, McpError> {
        let params = Map::from_iter([("taskId".into(), self.id.as_str().into())]);
        self.link.request(ServerRequest::new(method, params, time_limit)).await
    }

    fn milliseconds(&self, stateless: &str, session: &str) -> Option<Duration> {
        let field = match self.link.revision() {
            McpRevision::Stateless => stateless,
            McpRevision::Session => session,
        };
        self.state[field].as_u64().map(Duration::from_millis)
    }

    fn poll_interval(&self) -> Duration {
        self.milliseconds("pollIntervalMs", "pollInterval").unwrap_or(DEFAULT_POLL).clamp(MIN_POLL, MAX_POLL)
    }

    /// Fails once the server may have forgotten the task.
    fn require_unexpired(&mut self) -> Result<(), McpError> {
        match self.milliseconds("ttlMs", "ttl") {
            Some(ttl) if self.created.elapsed() > ttl => Err(self.lost("it has expired".into())),
            Some(_) | None => Ok(()),
        }
    }

    fn lost(&mut self, why: String) -> McpError {
        self.is_over = true;
        McpError::TaskLost { server: self.link.server.clone(), task: self.id.clone(), why }
    }

    fn cancelled(&self) -> McpError {
        let why = self.state["statusMessage"].as_str().map(|why| format!(": {}", protocol::clip_middle(why, 500)));
        let why = why.unwrap_or_default();
        McpError::TaskCancelled { server: self.link.server.clone(), task: self.id.clone(), why }
    }
}

impl Drop for RemoteTask<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.link.cancel_task_in_background(&self.id);
        }
    }
}
