//! Follows tasks that servers do themselves, in both forms of the protocol: polls until the result is there, through
//! lost connections and restarts of Bosun.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use protocol::{McpTaskForm, McpTaskReport, McpTaskStatus, clip_middle};
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tools::{FirstPoll, RemoteTaskContext, RemoteTaskEnd, RemoteTaskRef};

use super::created_task::{TaskTimes, task_params};
use crate::followed_task::{FollowedTask, StreamState};
use crate::link::ServerRequest;
use crate::servers::ServerSlot;
use crate::{McpError, McpRevision, McpServer};

/// The time between polls when the server does not say.
const DEFAULT_POLL: Duration = Duration::from_secs(1);

/// The shortest and longest time between polls, whatever the server says.
const MIN_POLL: Duration = Duration::from_millis(100);
const MAX_POLL: Duration = Duration::from_secs(30);

/// How long one poll may take.
pub(super) const POLL_TIMEOUT: Duration = Duration::from_secs(30);

/// How often in a row a poll may fail before the task counts as lost: with the growing delays, for half an hour.
const MAX_FAILED_POLLS: u32 = 64;

/// How long a poll without news may go unrecorded.
const RECORD_INTERVAL: Duration = Duration::from_secs(60);

/// The shortest time between two records of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum bytes of what a server says of its status.
pub(super) const MAX_MESSAGE_BYTES: usize = 500;

/// JSON-RPC's codes for a task that the server does not know: invalid parameters, an unknown method, no such resource.
const UNKNOWN_TASK_CODES: [i64; 3] = [-32602, -32601, -32002];

/// Follows one task.
pub(crate) struct RemoteTaskFollower<'a> {
    pub(super) slot: &'a ServerSlot,
    pub(super) task: RemoteTaskRef<'a>,
    pub(super) cx: &'a RemoteTaskContext,
    /// What is known of it now.
    pub(super) report: McpTaskReport,
    /// What was recorded last.
    recorded: Option<McpTaskReport>,
    /// How often in a row the server could not be asked.
    failures: u32,
    /// The questions of the server that have answers.
    pub(super) answered: BTreeSet<String>,
    /// Answers that the server does not have yet, by the keys of its questions.
    pub(super) unsent: Map<String, Value>,
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
pub(super) enum PollFailure {
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

    pub(super) fn failure_of(&self, error: &McpError) -> PollFailure {
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

    /// Waits for the time of the next poll, or until the server reports a change. Records progress meanwhile.
    async fn wait(&mut self) {
        let until = Instant::now() + self.poll_delay();
        let Some(FollowedConnection { signals, .. }) = &self.connection else { return sleep_until(until).await };
        let (changes, mut progress) = signals.listen();
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                () = changes.next() => return sleep(MIN_POLL).await,
                reported = progress.next(self.next_progress) => {
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
    pub(super) fn expiry(&mut self) -> Option<RemoteTaskEnd> {
        let ttl = self.report.spec.remote.as_ref().and_then(|remote| remote.ttl_ms).map(Duration::from_millis);
        let age = self.cx.clock.now().since(self.task.spec.started_at);
        ttl.is_some_and(|ttl| age > ttl).then(|| self.lost("it has expired"))
    }
}

fn revision_of(form: McpTaskForm) -> McpRevision {
    match form {
        McpTaskForm::Session => McpRevision::Session,
        McpTaskForm::Extension => McpRevision::Stateless,
    }
}
