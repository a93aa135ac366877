//! Tasks that a client runs itself and only reports. The session stores them as external tasks, so that they outlive
//! both the connection and this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::{Ids, TimeIds};
use protocol::api::{
    ExternalTaskChange, ExternalTaskOwnerParams, ExternalTaskResult, ExternalTaskUpdate, ExternalTasksResult, Method,
    RegisterExternalTaskParams,
};
use protocol::{Clip, ExternalTask, ExternalTaskEnd, ExternalTaskId, ExternalTaskProgress, ExternalTaskState};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::hosted_session::HostedSession;
use super::methods::fields::{optional_text, required_text};
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
        let orphaned: Result<Value, _> =
            session.call(Method::ExternalTasksOrphan, ExternalTaskOwnerParams { owner }).await;
        if let Err(error) = orphaned {
            tracing::warn!(%error, "cannot mark the tasks of a disconnected client as orphaned");
        }
    }
}

/// All external tasks of the session.
pub(crate) async fn external_tasks(session: &HostedSession) -> Result<Vec<ExternalTask>, ErrorObject> {
    let ExternalTasksResult { external_tasks } = session.call(Method::ExternalTasksList, json!({})).await?;
    Ok(external_tasks)
}

/// The external task with this id, if there is one.
pub(crate) async fn find(session: &HostedSession, id: &str) -> Result<Option<ExternalTask>, ErrorObject> {
    match id.strip_prefix(MARK) {
        None => Ok(None),
        Some(name) => Ok(external_tasks(session).await?.into_iter().find(|external_task| external_task.id.0 == name)),
    }
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
    let task_params = RegisterExternalTaskParams {
        id: ExternalTaskId(name.to_owned()),
        title: optional_text(params, "displayName").map(clipped),
        description: clipped(required_text(params, "description")?),
        cancellable: params["cancellable"] == true,
        owner: owner.clone(),
        expected: params["expectedSequence"].as_u64(),
    };
    // Insert before registering, so that no disconnect is missed.
    session.client_tasks.peers().insert(owner, peer);
    let ExternalTaskResult { external_task, change } = session.call(Method::ExternalTasksRegister, task_params).await?;
    Ok(json!({
        "task": task_view(&external_task),
        "created": change == ExternalTaskChange::Created,
        "reclaimed": change == ExternalTaskChange::Reclaimed,
    }))
}

/// Applies a client's update of its task.
pub(crate) async fn update(session: &HostedSession, peer: &ClientPeer, params: &Value) -> Result<Value, ErrorObject> {
    let name = required_text(params, "id")?;
    let sequence = params["sequence"].as_u64();
    let update = ExternalTaskUpdate {
        id: ExternalTaskId(name.strip_prefix(MARK).unwrap_or(name).to_owned()),
        owner: Some(peer.connection_id()),
        sequence: sequence.ok_or_else(|| ErrorObject::bad_params("`sequence` is missing or not a number"))?,
        progress: read_update(&params["update"])?,
    };
    let ExternalTaskResult { external_task, change } = session.call(Method::ExternalTasksUpdate, update).await?;
    let is_applied = change == ExternalTaskChange::Updated;
    Ok(json!({ "task": task_view(&external_task), "applied": is_applied, "duplicate": !is_applied }))
}

/// Asks the client that owns the task to stop it; an orphaned task ends at once.
pub(crate) async fn cancel(session: &HostedSession, external_task: &ExternalTask) -> Result<bool, ErrorObject> {
    match &external_task.state {
        ExternalTaskState::Ended { .. } => Ok(false),
        ExternalTaskState::Orphaned { .. } => {
            let end = ExternalTaskEnd::Cancelled { reason: Some("no client owned the task".into()) };
            let (id, sequence) = (external_task.id.clone(), external_task.sequence + 1);
            let update =
                ExternalTaskUpdate { id, owner: None, sequence, progress: vec![ExternalTaskProgress::Ended { end }] };
            let _ended: ExternalTaskResult = session.call(Method::ExternalTasksUpdate, update).await?;
            Ok(true)
        }
        ExternalTaskState::Running { .. } | ExternalTaskState::Idle { .. } if !external_task.cancellable => Ok(false),
        ExternalTaskState::Running { .. } | ExternalTaskState::Idle { .. } => ask_to_stop(session, external_task).await,
    }
}

async fn ask_to_stop(session: &HostedSession, external_task: &ExternalTask) -> Result<bool, ErrorObject> {
    let peer = session.client_tasks.peers().get(&external_task.owner).cloned();
    let peer = peer.ok_or_else(|| ErrorObject::internal("the client that owns the task is not connected here"))?;
    let request = json!({
        "sessionId": session.name_for_clients(),
        "id": format!("{MARK}{}", external_task.id),
        "clientTaskId": external_task.id,
        "cancellationId": TimeIds.uuid().to_string(),
        "reason": "requested",
    });
    match tokio::time::timeout(CANCEL_TIMEOUT, peer.request("tasks.cancel", request)).await {
        Ok(answer) => Ok(answer?["cancelled"] != false),
        Err(_) => Err(ErrorObject::internal("the client that owns the task did not answer in time")),
    }
}

/// An external task in the SDK's format.
pub(crate) fn task_view(external_task: &ExternalTask) -> Value {
    let mut view = json!({
        "type": "client",
        "id": format!("{MARK}{}", external_task.id),
        "clientTaskId": external_task.id,
        "description": external_task.description,
        "status": status_name(external_task),
        "owner": owner_view(external_task),
        "startedAt": external_task.started_at.to_string(),
        "updatedAt": external_task.updated_at.to_string(),
        "activeTimeMs": external_task.worked_ms,
        "executionMode": "background",
        "canCancel": external_task.cancellable && external_task.is_owned(),
        "sequence": external_task.sequence,
    });
    if let Some(title) = &external_task.title {
        view["displayName"] = title.as_str().into();
    }
    if let Some(at) = external_task.reclaimed_at {
        view["reclaimedAt"] = at.to_string().into();
    }
    match &external_task.state {
        ExternalTaskState::Running { since_at } => view["activeStartedAt"] = since_at.to_string().into(),
        ExternalTaskState::Idle { since_at } => view["idleSince"] = since_at.to_string().into(),
        ExternalTaskState::Orphaned { since_at } => view["orphanedAt"] = since_at.to_string().into(),
        ExternalTaskState::Ended { at, end } => {
            view["completedAt"] = at.to_string().into();
            describe_end(&mut view, end);
        }
    }
    view
}

/// The progress of an external task in the SDK's format.
pub(crate) fn progress_view(external_task: &ExternalTask) -> Value {
    let messages = external_task.message.iter();
    let activity: Vec<Value> =
        messages.map(|text| json!({ "message": text, "timestamp": external_task.updated_at.to_string() })).collect();
    let mut view = json!({
        "type": "client",
        "status": status_name(external_task),
        "sequence": external_task.sequence,
        "updatedAt": external_task.updated_at.to_string(),
        "recentActivity": activity,
    });
    if let Some(phase) = &external_task.phase {
        view["phase"] = phase.as_str().into();
    }
    if let Some(percent) = external_task.percent {
        view["percentage"] = percent.into();
    }
    if let Some(text) = &external_task.message {
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

fn status_name(external_task: &ExternalTask) -> &'static str {
    match &external_task.state {
        ExternalTaskState::Running { .. } => "running",
        ExternalTaskState::Idle { .. } => "idle",
        ExternalTaskState::Orphaned { .. } => "orphaned",
        ExternalTaskState::Ended { end, .. } => match end {
            ExternalTaskEnd::Completed { .. } => "completed",
            ExternalTaskEnd::Failed { .. } => "failed",
            ExternalTaskEnd::Cancelled { .. } => "cancelled",
        },
    }
}

fn owner_view(external_task: &ExternalTask) -> Value {
    let mut owner =
        json!({ "participantId": "sdk", "joinId": external_task.owner, "kind": "sdk", "presence": "connected" });
    match &external_task.state {
        ExternalTaskState::Orphaned { since_at } => {
            owner["presence"] = "disconnected".into();
            owner["disconnectedAt"] = since_at.to_string().into();
        }
        ExternalTaskState::Running { .. } | ExternalTaskState::Idle { .. } | ExternalTaskState::Ended { .. } => {}
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
