//! Tasks that a client runs itself and only reports: external tasks of the session, which outlive both the connection
//! and this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::{Ids, TimeIds};
use protocol::api::{
    ClosedConnectionParams, ExternalTaskChange, ExternalTaskResult, Method, RegisterTaskParams, ReportTaskParams,
    StopTaskParams, TaskParams, TaskRecord, TaskView,
};
use protocol::{
    CancelMode, Clip, ExternalActivity, ExternalReport, ExternalTaskEnd, ExternalTaskId, ExternalTaskProgress, TaskId,
    TaskOutcome, TaskState,
};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::hosted_session::HostedSession;
use super::methods::fields::{optional_text, required_text};
use super::methods::tasks::below_root;
use super::peer::ClientPeer;

/// The prefix of a client's task id, which distinguishes it from Bosun's ids.
const MARK: &str = "client:";

/// Maximum bytes of a client's task id.
const NAME: usize = 256;

/// Maximum bytes of a text from a client.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Maximum bytes of a result.
const RESULT: usize = 256 * 1024;

/// How long a client may take to answer a request to stop its task.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The connections that own external tasks.
#[derive(Debug, Default)]
pub(crate) struct ClientTasks(Mutex<HashMap<String, Arc<ClientPeer>>>);

impl ClientTasks {
    fn peers(&self) -> MutexGuard<'_, HashMap<String, Arc<ClientPeer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Orphans the tasks of a client that leaves, until they are registered again.
    pub(crate) async fn client_left(&self, session: &HostedSession, peer: &ClientPeer) {
        let owner = peer.connection_id();
        if self.peers().remove(&owner).is_none() {
            return;
        }
        let orphaned: Result<Value, _> = session.call(Method::TasksOrphan, ClosedConnectionParams { owner }).await;
        if let Err(error) = orphaned {
            tracing::warn!(%error, "cannot mark the tasks of a disconnected client as orphaned");
        }
    }
}

/// An external task with what is known of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientTask<'a> {
    task: &'a TaskView,
    report: &'a ExternalReport,
}

impl<'a> ClientTask<'a> {
    /// The task, if a client does it.
    pub(crate) fn of(task: &'a TaskView) -> Option<ClientTask<'a>> {
        task.external.as_deref().map(|report| ClientTask { task, report })
    }
}

/// The id of the task that a client names, with or without the prefix.
pub(crate) async fn find(session: &HostedSession, id: &str) -> Result<Option<TaskView>, ErrorObject> {
    let Some(name) = id.strip_prefix(MARK) else { return Ok(None) };
    let has_name = |task: &TaskView| task.external.as_deref().is_some_and(|report| report.spec.id.0 == name);
    Ok(below_root(session).await?.into_iter().find(has_name))
}

/// Registers a new external task, or reclaims an orphaned one.
pub(crate) async fn register(
    session: &HostedSession,
    peer: Arc<ClientPeer>,
    params: &Value,
) -> Result<Value, ErrorObject> {
    let name = required_text(params, "clientTaskId")?;
    if name.is_empty() || name.len() > NAME {
        return Err(ErrorObject::bad_params(format!("`clientTaskId` has 1 to {NAME} bytes")));
    }
    let owner = peer.connection_id();
    let task_params = RegisterTaskParams {
        id: ExternalTaskId(name.to_owned()),
        title: optional_text(params, "displayName").map(clipped),
        description: clipped(required_text(params, "description")?),
        cancellable: params["cancellable"] == true,
        owner: owner.clone(),
        expected: params["expectedSequence"].as_u64(),
    };
    // Insert before registering, so that no disconnect is missed.
    session.client_tasks.peers().insert(owner, peer);
    let ExternalTaskResult { task, change } = session.call(Method::TasksRegister, task_params).await?;
    Ok(json!({
        "task": current_view(session, task).await?,
        "created": change == ExternalTaskChange::Created,
        "reclaimed": change == ExternalTaskChange::Claimed,
    }))
}

/// Applies a client's update of its task.
pub(crate) async fn update(session: &HostedSession, peer: &ClientPeer, params: &Value) -> Result<Value, ErrorObject> {
    let id = required_text(params, "id")?;
    let sequence = params["sequence"].as_u64();
    let sequence = sequence.ok_or_else(|| ErrorObject::bad_params("`sequence` is missing or not a number"))?;
    let progress = read_update(&params["update"])?;
    let name = id.strip_prefix(MARK).unwrap_or(id);
    let task = find(session, &format!("{MARK}{name}")).await?;
    let task =
        task.ok_or_else(|| ErrorObject::internal(format!("there is no client task `{name}`; register it first")))?;
    let report = ReportTaskParams { task: task.id, owner: peer.connection_id(), sequence, progress };
    let ExternalTaskResult { task, change } = session.call(Method::TasksReport, report).await?;
    let is_applied = change == ExternalTaskChange::Reported;
    Ok(json!({ "task": current_view(session, task).await?, "applied": is_applied, "duplicate": !is_applied }))
}

async fn current_view(session: &HostedSession, task: TaskId) -> Result<Value, ErrorObject> {
    let TaskRecord { task, .. } = session.call(Method::TasksGet, TaskParams { task }).await?;
    Ok(ClientTask::of(&task).map(task_view).unwrap_or_default())
}

/// Asks the client that owns the task to stop it; an orphaned task ends at once.
pub(crate) async fn cancel(session: &HostedSession, client_task: ClientTask<'_>) -> Result<bool, ErrorObject> {
    match &client_task.task.state {
        TaskState::Finished { .. } => Ok(false),
        TaskState::Interrupted => {
            let stop = StopTaskParams { task: client_task.task.id, how: CancelMode::Abort };
            let _stopped: Value = session.call(Method::TasksStop, stop).await?;
            Ok(true)
        }
        TaskState::Queued | TaskState::Running | TaskState::Idle | TaskState::Parked { .. } => {
            if client_task.report.spec.cancellable { ask_to_stop(session, client_task).await } else { Ok(false) }
        }
    }
}

async fn ask_to_stop(session: &HostedSession, client_task: ClientTask<'_>) -> Result<bool, ErrorObject> {
    let spec = &client_task.report.spec;
    let peer = session.client_tasks.peers().get(&spec.owner).cloned();
    let peer = peer.ok_or_else(|| ErrorObject::internal("the client that owns the task is not connected here"))?;
    let request = json!({
        "sessionId": session.name_for_clients(),
        "id": format!("{MARK}{}", spec.id),
        "clientTaskId": spec.id,
        "cancellationId": TimeIds.uuid().to_string(),
        "reason": "requested",
    });
    match tokio::time::timeout(CANCEL_TIMEOUT, peer.request("tasks.cancel", request)).await {
        Ok(answer) => Ok(answer?["cancelled"] != false),
        Err(_) => Err(ErrorObject::internal("the client that owns the task did not answer in time")),
    }
}

/// An external task in the SDK's format.
pub(crate) fn task_view(client_task: ClientTask<'_>) -> Value {
    let ClientTask { task, report } = client_task;
    let spec = &report.spec;
    let mut view = json!({
        "type": "client",
        "id": format!("{MARK}{}", spec.id),
        "clientTaskId": spec.id,
        "description": task.description,
        "status": status_name(client_task),
        "owner": owner_view(client_task),
        "startedAt": task.started_at.unwrap_or(task.created_at).to_string(),
        "updatedAt": report.updated_at.max(task.updated_at).to_string(),
        "activeTimeMs": report.worked_ms,
        "executionMode": "background",
        "canCancel": spec.cancellable && task.state == TaskState::Running,
        "sequence": report.sequence,
    });
    if let Some(title) = &spec.title {
        view["displayName"] = title.as_str().into();
    }
    if let Some(at) = report.claimed_at {
        view["reclaimedAt"] = at.to_string().into();
    }
    let since = report.since_at.to_string();
    match (&task.state, report.activity) {
        (TaskState::Interrupted, _) => view["orphanedAt"] = since.into(),
        (TaskState::Finished { .. }, _) => {
            view["completedAt"] = task.ended_at.unwrap_or(task.updated_at).to_string().into();
            if let Some(end) = &report.end {
                describe_end(&mut view, end);
            }
        }
        (_, ExternalActivity::Working) => view["activeStartedAt"] = since.into(),
        (_, ExternalActivity::Idle | ExternalActivity::Stopped) => view["idleSince"] = since.into(),
    }
    view
}

/// The progress of an external task in the SDK's format.
pub(crate) fn progress_view(client_task: ClientTask<'_>) -> Value {
    let report = client_task.report;
    let updated_at = report.updated_at.to_string();
    let messages = report.message.iter();
    let activity: Vec<Value> = messages.map(|text| json!({ "message": text, "timestamp": updated_at })).collect();
    let mut view = json!({
        "type": "client",
        "status": status_name(client_task),
        "sequence": report.sequence,
        "updatedAt": updated_at,
        "recentActivity": activity,
    });
    if let Some(phase) = &report.phase {
        view["phase"] = phase.as_str().into();
    }
    if let Some(percent) = report.percent {
        view["percentage"] = percent.into();
    }
    if let Some(text) = &report.message {
        view["lastMessage"] = text.as_str().into();
    }
    view
}

fn describe_end(view: &mut Value, end: &ExternalTaskEnd) {
    match end {
        ExternalTaskEnd::Completed { result } => {
            if let Some(result) = result {
                view["result"] = result.clone();
            }
        }
        ExternalTaskEnd::Failed { error, code } => {
            view["error"] = error.as_str().into();
            if let Some(code) = code {
                view["errorCode"] = code.as_str().into();
            }
        }
        ExternalTaskEnd::Cancelled { reason } => {
            if let Some(reason) = reason {
                view["cancellationReason"] = reason.as_str().into();
            }
        }
    }
}

fn status_name(client_task: ClientTask<'_>) -> &'static str {
    match (&client_task.task.state, client_task.report.activity) {
        (TaskState::Interrupted, _) => "orphaned",
        (TaskState::Finished { outcome: TaskOutcome::Completed }, _) => "completed",
        (TaskState::Finished { outcome: TaskOutcome::Cancelled { .. } }, _) => "cancelled",
        (TaskState::Finished { .. }, _) => "failed",
        (_, ExternalActivity::Working) => "running",
        (_, ExternalActivity::Idle | ExternalActivity::Stopped) => "idle",
    }
}

fn owner_view(client_task: ClientTask<'_>) -> Value {
    let ClientTask { task, report } = client_task;
    let mut owner =
        json!({ "participantId": "sdk", "joinId": report.spec.owner, "kind": "sdk", "presence": "connected" });
    if task.state == TaskState::Interrupted {
        owner["presence"] = "disconnected".into();
        owner["disconnectedAt"] = report.since_at.to_string().into();
    }
    owner
}

/// Reads a client's update.
fn read_update(update: &Value) -> Result<Vec<ExternalTaskProgress>, ErrorObject> {
    let mut changes: Vec<ExternalTaskProgress> = optional_text(update, "message")
        .map(|text| ExternalTaskProgress::Message { text: clipped(text) })
        .into_iter()
        .collect();
    match required_text(update, "kind")? {
        "progress" => changes.extend(read_progress(update)?),
        "completed" => {
            let result = Some(&update["result"]).filter(|result| !result.is_null());
            if result.is_some_and(|result| result.to_string().len() > RESULT) {
                return Err(ErrorObject::bad_params(format!("`result` is larger than {RESULT} bytes")));
            }
            changes.push(ExternalTaskProgress::Ended { end: ExternalTaskEnd::Completed { result: result.cloned() } });
        }
        "failed" => {
            let (error, code) = (clipped(required_text(update, "error")?), optional_text(update, "code").map(clipped));
            changes.push(ExternalTaskProgress::Ended { end: ExternalTaskEnd::Failed { error, code } });
        }
        "cancelled" => {
            let reason = optional_text(update, "reason").map(clipped);
            changes.push(ExternalTaskProgress::Ended { end: ExternalTaskEnd::Cancelled { reason } });
        }
        other => return Err(ErrorObject::bad_params(format!("unknown kind of update `{other}`"))),
    }
    Ok(changes)
}

fn read_progress(update: &Value) -> Result<Vec<ExternalTaskProgress>, ErrorObject> {
    let mut changes = Vec::new();
    match optional_text(update, "status") {
        None => {}
        Some("running") => changes.push(ExternalTaskProgress::Running),
        Some("idle") => changes.push(ExternalTaskProgress::Idle),
        Some(other) => return Err(ErrorObject::bad_params(format!("unknown progress status `{other}`"))),
    }
    if let Some(phase) = update.get("phase") {
        changes.push(ExternalTaskProgress::Phase { phase: phase.as_str().map(clipped) });
    }
    if let Some(percentage) = update.get("percentage") {
        let percent = percentage.as_f64().map(|percent| percent.clamp(0.0, 100.0).round() as u8);
        changes.push(ExternalTaskProgress::Percent { percent });
    }
    Ok(changes)
}

fn clipped(text: &str) -> String {
    Clip::new(text, MAX_TEXT_BYTES).into_string()
}
