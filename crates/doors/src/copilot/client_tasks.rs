//! Tasks that a client runs itself and only reports on. The session keeps what it says as errands, so that they outlive
//! both the connection and this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::{Ids, TimeIds};
use protocol::api::{ErrandChange, ErrandParams, ErrandResult, ErrandUpdate, ErrandsResult, Method, OwnerParams};
use protocol::{Clip, Errand, ErrandEnd, ErrandId, ErrandState, ErrandWord};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::held::Held;
use super::methods::fields::{maybe, text};
use super::peer::Peer;

/// What stands before a client's own name for its task, so that it cannot be taken for one of ours.
const MARK: &str = "client:";

/// Most bytes of a client's name for its task.
const NAME: usize = 256;

/// Most bytes of what a client says in words.
const WORDS: usize = 16 * 1024;

/// Most bytes of a result.
const RESULT: usize = 256 * 1024;

/// How long a client that is to stop its task may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The connections that are at tasks of their own.
#[derive(Debug, Default)]
pub(crate) struct ClientTasks(Mutex<HashMap<String, Arc<Peer>>>);

impl ClientTasks {
    fn peers(&self) -> MutexGuard<'_, HashMap<String, Arc<Peer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client leaves: what it was at is nobody's until somebody registers it again.
    pub(crate) async fn part(&self, session: &Held, peer: &Peer) {
        let owner = peer.join_id();
        if self.peers().remove(&owner).is_none() {
            return;
        }
        let orphaned: Result<Value, _> = session.call(Method::ErrandsOrphan, OwnerParams { owner }).await;
        if let Err(error) = orphaned {
            tracing::warn!(%error, "tasks of a client that left are not marked");
        }
    }
}

/// Every task of the session's clients.
pub(crate) async fn all(session: &Held) -> Result<Vec<Errand>, ErrorObject> {
    let ErrandsResult { errands } = session.call(Method::ErrandsList, json!({})).await?;
    Ok(errands)
}

/// The task of a client that an id means, if it means one.
pub(crate) async fn find(session: &Held, id: &str) -> Result<Option<Errand>, ErrorObject> {
    match id.strip_prefix(MARK) {
        None => Ok(None),
        Some(name) => Ok(all(session).await?.into_iter().find(|errand| errand.id.0 == name)),
    }
}

/// Begins a task of a client, or gives it one that nobody is at.
pub(crate) async fn register(session: &Held, peer: Arc<Peer>, params: &Value) -> Result<Value, ErrorObject> {
    let name = text(params, "clientTaskId")?;
    if name.is_empty() || name.len() > NAME {
        return Err(ErrorObject::bad_params(format!("`clientTaskId` has 1 to {NAME} bytes")));
    }
    let owner = peer.join_id();
    let wanted = ErrandParams {
        id: ErrandId(name.to_owned()),
        title: maybe(params, "displayName").map(clipped),
        description: clipped(text(params, "description")?),
        cancellable: params["cancellable"] == true,
        owner: owner.clone(),
        expected: params["expectedSequence"].as_u64(),
    };
    // Before the session knows of it, so that no departure is missed.
    session.client_tasks.peers().insert(owner, peer);
    let ErrandResult { errand, change } = session.call(Method::ErrandsRegister, wanted).await?;
    Ok(json!({
        "task": described(&errand),
        "created": change == ErrandChange::Made,
        "reclaimed": change == ErrandChange::Reclaimed,
    }))
}

/// Takes what a client says of its task.
pub(crate) async fn update(session: &Held, peer: &Peer, params: &Value) -> Result<Value, ErrorObject> {
    let name = text(params, "id")?;
    let sequence = params["sequence"].as_u64();
    let update = ErrandUpdate {
        id: ErrandId(name.strip_prefix(MARK).unwrap_or(name).to_owned()),
        owner: Some(peer.join_id()),
        sequence: sequence.ok_or_else(|| ErrorObject::bad_params("`sequence` is missing or no number"))?,
        words: words(&params["update"])?,
    };
    let ErrandResult { errand, change } = session.call(Method::ErrandsUpdate, update).await?;
    let is_told = change == ErrandChange::Told;
    Ok(json!({ "task": described(&errand), "applied": is_told, "duplicate": !is_told }))
}

/// Asks whoever is at the task to stop it; one that nobody is at is over at once.
pub(crate) async fn cancel(session: &Held, errand: &Errand) -> Result<bool, ErrorObject> {
    match &errand.state {
        ErrandState::Ended { .. } => Ok(false),
        ErrandState::Orphaned { .. } => {
            let end = ErrandEnd::Cancelled { reason: Some("nobody was at it".into()) };
            let (id, sequence) = (errand.id.clone(), errand.sequence + 1);
            let update = ErrandUpdate { id, owner: None, sequence, words: vec![ErrandWord::Ended { end }] };
            let _ended: ErrandResult = session.call(Method::ErrandsUpdate, update).await?;
            Ok(true)
        }
        ErrandState::Running { .. } | ErrandState::Idle { .. } if !errand.cancellable => Ok(false),
        ErrandState::Running { .. } | ErrandState::Idle { .. } => ask_to_stop(session, errand).await,
    }
}

async fn ask_to_stop(session: &Held, errand: &Errand) -> Result<bool, ErrorObject> {
    let peer = session.client_tasks.peers().get(&errand.owner).cloned();
    let peer = peer.ok_or_else(|| ErrorObject::internal("the client of the task is not connected here"))?;
    let asked = json!({
        "sessionId": session.called(),
        "id": format!("{MARK}{}", errand.id),
        "clientTaskId": errand.id,
        "cancellationId": TimeIds.uuid().to_string(),
        "reason": "requested",
    });
    match tokio::time::timeout(PATIENCE, peer.ask("tasks.cancel", asked)).await {
        Ok(answer) => Ok(answer?["cancelled"] != false),
        Err(_) => Err(ErrorObject::internal("the client of the task did not answer in time")),
    }
}

/// A task of a client as clients know it.
pub(crate) fn described(errand: &Errand) -> Value {
    let mut view = json!({
        "type": "client",
        "id": format!("{MARK}{}", errand.id),
        "clientTaskId": errand.id,
        "description": errand.description,
        "status": status(errand),
        "owner": owner(errand),
        "startedAt": errand.started_at.to_string(),
        "updatedAt": errand.updated_at.to_string(),
        "activeTimeMs": errand.worked_ms,
        "executionMode": "background",
        "canCancel": errand.cancellable && errand.is_held(),
        "sequence": errand.sequence,
    });
    if let Some(title) = &errand.title {
        view["displayName"] = title.as_str().into();
    }
    if let Some(at) = errand.reclaimed_at {
        view["reclaimedAt"] = at.to_string().into();
    }
    match &errand.state {
        ErrandState::Running { since_at } => view["activeStartedAt"] = since_at.to_string().into(),
        ErrandState::Idle { since_at } => view["idleSince"] = since_at.to_string().into(),
        ErrandState::Orphaned { since_at } => view["orphanedAt"] = since_at.to_string().into(),
        ErrandState::Ended { at, end } => {
            view["completedAt"] = at.to_string().into();
            describe_end(&mut view, end);
        }
    }
    view
}

/// How far a task of a client is, as clients know it.
pub(crate) fn progress(errand: &Errand) -> Value {
    let said = errand.message.iter();
    let activity: Vec<Value> =
        said.map(|text| json!({ "message": text, "timestamp": errand.updated_at.to_string() })).collect();
    let mut view = json!({
        "type": "client",
        "status": status(errand),
        "sequence": errand.sequence,
        "updatedAt": errand.updated_at.to_string(),
        "recentActivity": activity,
    });
    if let Some(phase) = &errand.phase {
        view["phase"] = phase.as_str().into();
    }
    if let Some(percent) = errand.percent {
        view["percentage"] = percent.into();
    }
    if let Some(text) = &errand.message {
        view["lastMessage"] = text.as_str().into();
    }
    view
}

fn describe_end(view: &mut Value, end: &ErrandEnd) {
    match end {
        ErrandEnd::Completed { result } => {
            if let Some(result) = result {
                view["result"] = result.clone();
            }
        }
        ErrandEnd::Failed { error, code } => {
            view["error"] = error.as_str().into();
            if let Some(code) = code {
                view["errorCode"] = code.as_str().into();
            }
        }
        ErrandEnd::Cancelled { reason } => {
            if let Some(reason) = reason {
                view["cancellationReason"] = reason.as_str().into();
            }
        }
    }
}

fn status(errand: &Errand) -> &'static str {
    match &errand.state {
        ErrandState::Running { .. } => "running",
        ErrandState::Idle { .. } => "idle",
        ErrandState::Orphaned { .. } => "orphaned",
        ErrandState::Ended { end, .. } => match end {
            ErrandEnd::Completed { .. } => "completed",
            ErrandEnd::Failed { .. } => "failed",
            ErrandEnd::Cancelled { .. } => "cancelled",
        },
    }
}

fn owner(errand: &Errand) -> Value {
    let mut owner = json!({ "participantId": "sdk", "joinId": errand.owner, "kind": "sdk", "presence": "connected" });
    match &errand.state {
        ErrandState::Orphaned { since_at } => {
            owner["presence"] = "disconnected".into();
            owner["disconnectedAt"] = since_at.to_string().into();
        }
        ErrandState::Running { .. } | ErrandState::Idle { .. } | ErrandState::Ended { .. } => {}
    }
    owner
}

/// What a client says, in our words.
fn words(update: &Value) -> Result<Vec<ErrandWord>, ErrorObject> {
    let mut words: Vec<ErrandWord> =
        maybe(update, "message").map(|text| ErrandWord::Message { text: clipped(text) }).into_iter().collect();
    match text(update, "kind")? {
        "progress" => words.extend(progressed(update)?),
        "completed" => {
            let result = Some(&update["result"]).filter(|result| !result.is_null());
            if result.is_some_and(|result| result.to_string().len() > RESULT) {
                return Err(ErrorObject::bad_params(format!("`result` is larger than {RESULT} bytes")));
            }
            words.push(ErrandWord::Ended { end: ErrandEnd::Completed { result: result.cloned() } });
        }
        "failed" => {
            let (error, code) = (clipped(text(update, "error")?), maybe(update, "code").map(clipped));
            words.push(ErrandWord::Ended { end: ErrandEnd::Failed { error, code } });
        }
        "cancelled" => {
            let reason = maybe(update, "reason").map(clipped);
            words.push(ErrandWord::Ended { end: ErrandEnd::Cancelled { reason } });
        }
        other => return Err(ErrorObject::bad_params(format!("`{other}` is no kind of update"))),
    }
    Ok(words)
}

fn progressed(update: &Value) -> Result<Vec<ErrandWord>, ErrorObject> {
    let mut words = Vec::new();
    match maybe(update, "status") {
        None => {}
        Some("running") => words.push(ErrandWord::Running),
        Some("idle") => words.push(ErrandWord::Idle),
        Some(other) => return Err(ErrorObject::bad_params(format!("`{other}` is no status of progress"))),
    }
    if let Some(phase) = update.get("phase") {
        words.push(ErrandWord::Phase { phase: phase.as_str().map(clipped) });
    }
    if let Some(percentage) = update.get("percentage") {
        let percent = percentage.as_f64().map(|percent| percent.clamp(0.0, 100.0).round() as u8);
        words.push(ErrandWord::Percent { percent });
    }
    Ok(words)
}

fn clipped(text: &str) -> String {
    Clip::new(text, WORDS).into_string()
}
