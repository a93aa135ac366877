//! Follows tasks that servers do themselves, in both forms of the protocol: polls until the result is there, through
//! lost connections and restarts of Bosun.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use protocol::{McpRemoteTask, McpTaskForm, McpTaskReport, McpTaskStatus, clip_middle};
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tools::{FirstPoll, RemoteOutcome, RemoteTaskContext, RemoteTaskEnd, RemoteTaskRef};

use crate::content;
use crate::elicitation::{McpElicitor, SessionElicitor};
use crate::followed_task::{FollowedTask, StreamState};
use crate::link::ServerRequest;
use crate::servers::ServerSlot;
use crate::tool::{self, refusal_text};
use crate::{McpError, McpRevision, McpServer};

/// How long a server of the older form is asked to keep a task, in milliseconds.
pub(crate) const REQUESTED_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// The time between polls when the server does not say.
const DEFAULT_POLL: Duration = Duration::from_secs(1);

/// The shortest and longest time between polls, whatever the server says.
const MIN_POLL: Duration = Duration::from_millis(100);
const MAX_POLL: Duration = Duration::from_secs(30);

/// How long one poll may take.
const POLL_TIMEOUT: Duration = Duration::from_secs(30);

/// How often in a row a poll may fail before the task counts as lost: with the growing delays, for half an hour.
const MAX_FAILED_POLLS: u32 = 64;

/// How long the server may take to answer `tasks/result`, which waits until the task has ended.
const RESULT_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// How long a poll without news may go unrecorded.
const RECORD_INTERVAL: Duration = Duration::from_secs(60);

/// The shortest time between two records of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// How long a server may take to confirm that a task is cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum bytes of a task's id.
const MAX_ID_BYTES: usize = 1024;

/// Maximum bytes of what a server says of its status.
const MAX_MESSAGE_BYTES: usize = 500;

/// JSON-RPC's codes for a task that the server does not know: invalid parameters, an unknown method, no such resource.
const UNKNOWN_TASK_CODES: [i64; 3] = [-32602, -32601, -32002];

/// The task in the result of a call, if the call became one; the error text says why it cannot be followed.
pub(crate) fn read_created(
    revision: McpRevision,
    result: &Map<String, Value>,
    progress_token: &str,
) -> Option<Result<McpRemoteTask, String>> {
    let (form, state) = match revision {
        McpRevision::Stateless if result.get("resultType").is_some_and(|kind| kind == "task") => {
            (McpTaskForm::Extension, result)
        }
        McpRevision::Session => (McpTaskForm::Session, result.get("task")?.as_object()?),
        McpRevision::Stateless => return None,
    };
    let id = state.get("taskId").and_then(Value::as_str).unwrap_or_default();
    if id.is_empty() || id.len() > MAX_ID_BYTES {
        return Some(Err(format!("its task has an id of {} bytes; 1 to {MAX_ID_BYTES} are allowed", id.len())));
    }
    let times = TaskTimes::read(form, state);
    Some(Ok(McpRemoteTask {
        id: id.to_owned(),
        form,
        progress_token: progress_token.to_owned(),
        ttl_ms: times.ttl_ms,
        poll_interval_ms: times.poll_interval_ms,
    }))
}

/// Asks the server to cancel a task.
pub(crate) async fn cancel(server: &McpServer, id: &str) {
    let request = ServerRequest::new("tasks/cancel", task_params(id), CANCEL_TIMEOUT);
    if let Err(error) = server.link().request(request).await {
        tracing::info!(%error, "a task of an MCP server may not be cancelled");
    }
}

/// The times that a server states for a task.
struct TaskTimes {
    ttl_ms: Option<u64>,
    poll_interval_ms: Option<u64>,
}

impl TaskTimes {
    fn read(form: McpTaskForm, state: &Map<String, Value>) -> TaskTimes {
        let (ttl, poll) = match form {
            McpTaskForm::Session => ("ttl", "pollInterval"),
            McpTaskForm::Extension => ("ttlMs", "pollIntervalMs"),
        };
        let milliseconds = |field: &str| state.get(field).and_then(Value::as_u64);
        TaskTimes { ttl_ms: milliseconds(ttl), poll_interval_ms: milliseconds(poll) }
    }
}

/// Follows one task.
pub(crate) struct RemoteTaskFollower<'a> {
    slot: &'a ServerSlot,
    task: RemoteTaskRef<'a>,
    cx: &'a RemoteTaskContext,
    /// What is known of it now.
    report: McpTaskReport,
    /// What was recorded last.
    recorded: Option<McpTaskReport>,
    /// How often in a row the server could not be asked.
    failures: u32,
    /// The questions of the server that have answers.
    answered: BTreeSet<String>,
    /// Answers that the server does not have yet, by the keys of its questions.
    unsent: Map<String, Value>,
    /// The connection in use.
    connection: Option<FollowedConnection>,
    /// When progress may be recorded again.
    next_progress: Instant,
}

/// A connection on which a task is followed.
struct FollowedConnection {
    server: Arc<McpServer>,
    signals: FollowedTask,
    /// Keeps a stream of the server's notifications.
    _stream: JoinSet<()>,
}

/// Why a poll brought nothing.
enum PollFailure {
    /// The server may answer later.
    Temporary(String),
    /// The task cannot be followed any more.
    Final(String),
}

impl<'a> RemoteTaskFollower<'a> {
    pub(crate) fn new(
        slot: &'a ServerSlot,
        task: RemoteTaskRef<'a>,
        cx: &'a RemoteTaskContext,
    ) -> RemoteTaskFollower<'a> {
        RemoteTaskFollower {
            slot,
            task,
            cx,
            report: McpTaskReport::new(task.spec.clone(), cx.clock.now()),
            recorded: None,
            failures: 0,
            answered: BTreeSet::new(),
            unsent: Map::new(),
            connection: None,
            next_progress: Instant::now(),
        }
    }

    /// Follows the task to its end.
    pub(crate) async fn run(mut self) -> RemoteTaskEnd {
        if self.cx.first_poll == FirstPoll::AfterInterval {
            // The stream must be open before the server can report on it.
            if let Err(PollFailure::Temporary(why) | PollFailure::Final(why)) = self.connect().await {
                tracing::info!(why, "an MCP server is not available for its task");
            }
            self.wait().await;
        }
        loop {
            let end = match self.poll().await {
                Ok(end) => end,
                Err(PollFailure::Final(why)) => Some(self.lost(&why)),
                Err(PollFailure::Temporary(why)) => self.note_failure(&why),
            };
            if let Some(end) = end {
                self.record().await;
                return end;
            }
            self.record().await;
            self.wait().await;
        }
    }

    /// Asks for the state of the task, and acts on it. Returns its end.
    async fn poll(&mut self) -> Result<Option<RemoteTaskEnd>, PollFailure> {
        let server = self.connect().await?;
        let request = ServerRequest::new("tasks/get", task_params(&self.task.remote.id), POLL_TIMEOUT);
        let state = server.link().request(request).await.map_err(|error| self.failure_of(&error))?;
        self.failures = 0;
        self.read_state(&state)?;
        match self.report.status {
            McpTaskStatus::Completed | McpTaskStatus::Failed => self.fetch_outcome(&server, state).await.map(Some),
            McpTaskStatus::Cancelled => Ok(Some(self.cancelled())),
            McpTaskStatus::InputRequired => {
                self.record().await;
                self.answer_questions(&server, &state).await
            }
            McpTaskStatus::Working | McpTaskStatus::Lost => Ok(self.expiry()),
        }
    }

    /// The server, on a connection that is followed. A connection that was lost is made again.
    async fn connect(&mut self) -> Result<Arc<McpServer>, PollFailure> {
        let server = self.slot.connected(&self.cx.guardian).await.map_err(PollFailure::Temporary)?;
        if server.revision() != revision_of(self.task.remote.form) {
            let why = format!("the server does not speak revision {} any more", self.task.remote.form.revision());
            if self.slot.is_program() {
                return Err(PollFailure::Final(why));
            }
            // A server that was about to start may have refused the revision.
            self.slot.disconnect(&server).await;
            return Err(PollFailure::Temporary(why));
        }
        if self.connection.as_ref().is_none_or(|connection| !Arc::ptr_eq(&connection.server, &server)) {
            let signals = FollowedTask::new(server.link(), self.task.remote);
            let mut stream = JoinSet::new();
            if server.revision() == McpRevision::Stateless {
                stream.spawn(signals.keep_stream(&self.task.remote.id));
            }
            self.connection = Some(FollowedConnection { server: Arc::clone(&server), signals, _stream: stream });
        }
        Ok(server)
    }

    fn failure_of(&self, error: &McpError) -> PollFailure {
        match error {
            McpError::Refused { code, message, .. } if UNKNOWN_TASK_CODES.contains(code) => {
                let ended = match self.slot.is_program() && self.cx.first_poll == FirstPoll::AtOnce {
                    true => "; its program was started again, and may not keep tasks",
                    false => "",
                };
                PollFailure::Final(format!("{message}{ended}"))
            }
            McpError::Refused { .. }
            | McpError::NoAccess { .. }
            | McpError::Unreachable { .. }
            | McpError::TimedOut { .. }
            | McpError::Malformed { .. } => PollFailure::Temporary(error.to_string()),
        }
    }

    /// Notes that the server could not be asked; returns the end of the task after too many failures.
    fn note_failure(&mut self, why: &str) -> Option<RemoteTaskEnd> {
        self.failures += 1;
        self.report.warning = Some(clip_middle(&format!("asking again: {why}"), MAX_MESSAGE_BYTES));
        if self.failures > MAX_FAILED_POLLS { Some(self.lost(why)) } else { self.expiry() }
    }

    fn read_state(&mut self, state: &Map<String, Value>) -> Result<(), PollFailure> {
        self.report.status = match state.get("status").and_then(Value::as_str) {
            Some("completed") => McpTaskStatus::Completed,
            Some("failed") => McpTaskStatus::Failed,
            Some("cancelled") => McpTaskStatus::Cancelled,
            Some("input_required") => McpTaskStatus::InputRequired,
            Some(_working) => McpTaskStatus::Working,
            None => return Err(PollFailure::Temporary("the task has no `status`".into())),
        };
        let message = state.get("statusMessage").and_then(Value::as_str).filter(|message| !message.trim().is_empty());
        self.report.message = message.map(|message| clip_middle(message.trim(), MAX_MESSAGE_BYTES));
        self.report.polled_at = Some(self.cx.clock.now());
        self.report.warning = None;
        if let Some(FollowedConnection { signals, .. }) = &self.connection {
            let is_lost = signals.stream() == StreamState::Lost;
            self.report.warning = is_lost.then(|| "stream lost, polling".to_owned());
            self.report.progress = signals.progress().or(self.report.progress.take());
        }
        if let Some(remote) = &mut self.report.spec.remote {
            let times = TaskTimes::read(remote.form, state);
            remote.ttl_ms = times.ttl_ms.or(remote.ttl_ms);
            remote.poll_interval_ms = times.poll_interval_ms.or(remote.poll_interval_ms);
        }
        Ok(())
    }

    /// The end of a task that has a result or an error.
    async fn fetch_outcome(
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
    async fn answer_questions(
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

    /// Waits for the time of the next poll, or until the server reports a change. Records progress meanwhile.
    async fn wait(&mut self) {
        let until = Instant::now() + self.poll_delay();
        let Some(FollowedConnection { signals, .. }) = &self.connection else { return sleep_until(until).await };
        let (changes, mut progress) = signals.listen();
        loop {
            let next_progress = self.next_progress;
            let reported = async {
                sleep_until(next_progress).await;
                progress.next().await
            };
            tokio::select! {
                () = sleep_until(until) => return,
                () = changes.next() => return sleep(MIN_POLL).await,
                reported = reported => {
                    self.report.progress = Some(reported);
                    self.next_progress = Instant::now() + PROGRESS_INTERVAL;
                    self.record().await;
                }
            }
        }
    }

    fn poll_delay(&self) -> Duration {
        match self.failures {
            0 => {
                let stated = self.report.spec.remote.as_ref().and_then(|remote| remote.poll_interval_ms);
                stated.map_or(DEFAULT_POLL, Duration::from_millis).clamp(MIN_POLL, MAX_POLL)
            }
            failures => MIN_POLL.saturating_mul(1 << failures.min(16)).min(MAX_POLL),
        }
    }

    /// Records what is known now, unless that was recorded a short time ago.
    async fn record(&mut self) {
        let now = self.cx.clock.now();
        let is_recorded = |recorded: &McpTaskReport| {
            recorded.says_the_same(&self.report) && now.since(recorded.updated_at) < RECORD_INTERVAL
        };
        if self.recorded.as_ref().is_some_and(is_recorded) {
            return;
        }
        self.report.updated_at = now;
        self.recorded = Some(self.report.clone());
        self.cx.observer.report(self.report.clone()).await;
    }

    /// The end of a task that its server may have forgotten.
    fn expiry(&mut self) -> Option<RemoteTaskEnd> {
        let ttl = self.report.spec.remote.as_ref().and_then(|remote| remote.ttl_ms).map(Duration::from_millis);
        let age = self.cx.clock.now().since(self.task.spec.started_at);
        ttl.is_some_and(|ttl| age > ttl).then(|| self.lost("it has expired"))
    }

    fn lost(&mut self, why: &str) -> RemoteTaskEnd {
        let why = clip_middle(why, MAX_MESSAGE_BYTES);
        let text = format!(
            "the MCP server `{}` lost the task `{}`: {why}; it is unknown whether it was done",
            self.slot.name(),
            self.task.remote.id
        );
        (self.report.status, self.report.message) = (McpTaskStatus::Lost, Some(why));
        RemoteTaskEnd { outcome: RemoteOutcome::Lost, text }
    }

    fn cancelled(&self) -> RemoteTaskEnd {
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

fn revision_of(form: McpTaskForm) -> McpRevision {
    match form {
        McpTaskForm::Session => McpRevision::Session,
        McpTaskForm::Extension => McpRevision::Stateless,
    }
}

fn task_params(id: &str) -> Map<String, Value> {
    Map::from_iter([("taskId".to_owned(), Value::from(id))])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn created(revision: McpRevision, result: Value) -> Option<Result<McpRemoteTask, String>> {
        read_created(revision, result.as_object().unwrap(), "c1")
    }

    #[test]
    fn tasks_are_recognised_in_the_form_of_their_revision() {
        let core = json!({ "task": { "taskId": "1", "status": "working", "ttl": 60000, "pollInterval": 500 } });
        let extension = json!({ "resultType": "task", "taskId": "1", "ttlMs": null, "pollIntervalMs": 500 });
        let task = |form, ttl_ms| McpRemoteTask {
            id: "1".into(),
            form,
            progress_token: "c1".into(),
            ttl_ms,
            poll_interval_ms: Some(500),
        };
        let session = created(McpRevision::Session, core.clone()).unwrap().unwrap();
        assert_eq!(session, task(McpTaskForm::Session, Some(60_000)));
        let stateless = created(McpRevision::Stateless, extension.clone()).unwrap().unwrap();
        assert_eq!(stateless, task(McpTaskForm::Extension, None));
        assert!(created(McpRevision::Stateless, core).is_none());
        assert!(created(McpRevision::Session, extension).is_none());
        assert!(created(McpRevision::Session, json!({ "content": [] })).is_none());
    }

    #[test]
    fn ids_have_a_maximum_length() {
        let with_id = |id: Value| created(McpRevision::Stateless, json!({ "resultType": "task", "taskId": id }));
        assert!(with_id(json!("x".repeat(1025))).unwrap().unwrap_err().contains("1025 bytes"));
        assert!(with_id(json!(7)).unwrap().unwrap_err().contains("0 bytes"));
    }
}
