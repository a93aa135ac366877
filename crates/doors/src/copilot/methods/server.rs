//! Methods that are about the server, or about sessions that a client does not hold yet.

use std::sync::Arc;

use host::{Clock, SystemClock};
use protocol::SessionId;
use rpc::ErrorObject;
use serde_json::{Value, json};
use store::{Index, SessionRow, StoreError};

use super::{discover, unhandled};
use crate::copilot::naming;
use crate::copilot::stay::{self, unknown};
use crate::copilot::visit::Visit;
use crate::session_uuid;

/// The version of the family's protocol that is spoken.
const PROTOCOL: u32 = 3;

/// What clients may report on and start.
const TASK_KINDS: [&str; 3] = ["agent", "client", "shell"];

const METHODS: [&str; 21] = [
    "connect",
    "ping",
    "status.get",
    "auth.getStatus",
    "models.list",
    "agents.discover",
    "tools.list",
    "runtime.shutdown",
    "session.create",
    "session.resume",
    "session.detach",
    "session.destroy",
    "session.delete",
    "session.list",
    "sessions.list",
    "sessions.fork",
    "session.getLastId",
    "session.getMetadata",
    "session.getForeground",
    "session.setForeground",
    "session.getMessages",
];

/// Whether a method is answered here.
pub(crate) fn serves(method: &str) -> bool {
    METHODS.contains(&method)
}

pub(crate) async fn call(visit: &Arc<Visit>, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match method {
        "connect" => connect(visit, &params),
        "ping" => Ok(json!({
            "message": format!("pong: {}", params["message"].as_str().unwrap_or_default()),
            "timestamp": SystemClock.now().to_string(),
            "protocolVersion": PROTOCOL,
        })),
        "status.get" => Ok(json!({ "version": env!("CARGO_PKG_VERSION"), "protocolVersion": PROTOCOL })),
        "auth.getStatus" => Ok(json!({ "isAuthenticated": false, "statusMessage": "Bosun needs no login" })),
        "models.list" | "agents.discover" | "tools.list" => discover::call(visit, method, &params),
        "runtime.shutdown" => {
            visit.server().close();
            Ok(Value::Null)
        }
        "session.create" => stay::create(visit, &params).await,
        "session.resume" => stay::resume(visit, &params).await,
        "session.detach" | "session.destroy" => {
            visit.part(named(&params)?).await;
            Ok(json!({ "success": true }))
        }
        "session.delete" => delete(visit, &params).await,
        "session.list" | "sessions.list" => list(visit, &params).await,
        "sessions.fork" => {
            let copy = stay::fork(visit, &params).await?;
            Ok(json!({ "sessionId": session_uuid(copy).to_string() }))
        }
        "session.getLastId" => {
            let newest = known(visit).await?.into_iter().max_by_key(|known| known.row.updated_at);
            Ok(newest.map_or(json!({}), |known| json!({ "sessionId": known.called })))
        }
        "session.getMetadata" => {
            let wanted = named(&params)?;
            let found = known(visit).await?.into_iter().find(|known| known.row.id == wanted);
            Ok(found.map_or(json!({}), |known| json!({ "session": metadata(&known) })))
        }
        "session.getForeground" => Ok(json!({})),
        "session.setForeground" => {
            Ok(json!({ "success": false, "error": "there is no screen on which a session could be shown" }))
        }
        "session.getMessages" => messages(visit, &params).await,
        other => Err(unhandled(other)),
    }
}

fn connect(visit: &Visit, params: &Value) -> Result<Value, ErrorObject> {
    visit.admit(params["token"].as_str())?;
    let mut answer = json!({ "ok": true, "protocolVersion": PROTOCOL, "version": env!("CARGO_PKG_VERSION") });
    if let Some(known) = params["supportedTaskKinds"].as_array() {
        let both = TASK_KINDS.into_iter().filter(|kind| known.iter().any(|known| known == kind));
        answer["taskKinds"] = both.collect();
    }
    Ok(answer)
}

async fn messages(visit: &Visit, params: &Value) -> Result<Value, ErrorObject> {
    let (home, id) = (visit.server().house.home(), owned(visit, params)?);
    Ok(json!({ "events": crate::copilot::history::kept(home, id).await? }))
}

async fn delete(visit: &Visit, params: &Value) -> Result<Value, ErrorObject> {
    let id = owned(visit, params)?;
    visit.part(id).await;
    visit.server().evict(id).await;
    let home = visit.server().house.home().clone();
    let removing = tokio::task::spawn_blocking(move || -> Result<(), StoreError> {
        store::remove_session(&home, id)?;
        Index::open(&home)?.remove(id)
    });
    match removing.await.map_err(ErrorObject::internal)? {
        Ok(()) => {
            let told = json!({ "type": "session.deleted", "sessionId": params["sessionId"] });
            visit.peer().tell("session.lifecycle", told).await;
            Ok(json!({ "success": true }))
        }
        Err(error) => Ok(json!({ "success": false, "error": error.to_string() })),
    }
}

async fn list(visit: &Visit, params: &Value) -> Result<Value, ErrorObject> {
    let cwd = params["filter"]["cwd"].as_str().or(params["filter"]["workingDirectory"].as_str());
    let known = known(visit).await?;
    let wanted = known.iter().filter(|known| cwd.is_none_or(|cwd| known.row.cwd == cwd));
    Ok(json!({ "sessions": wanted.map(metadata).collect::<Vec<_>>() }))
}

/// A session, and what clients call it.
struct Known {
    row: SessionRow,
    called: String,
}

/// Every session there is; those that are held are as they are now.
async fn known(visit: &Visit) -> Result<Vec<Known>, ErrorObject> {
    let (home, base) = (visit.server().house.home().clone(), visit.server().base.clone());
    let reading = tokio::task::spawn_blocking(move || -> Result<Vec<Known>, StoreError> {
        let rows = Index::open(&home)?.agree(&home)?.list(None)?;
        let known = |row: SessionRow| Known { called: naming::called(&home, row.id), row };
        Ok(rows.into_iter().filter(|row| base.has(&home, row.id)).map(known).collect())
    });
    reading.await.map_err(ErrorObject::internal)?.map_err(ErrorObject::internal)
}

fn metadata(Known { row, called }: &Known) -> Value {
    json!({
        "sessionId": called,
        "startTime": row.created_at.to_string(),
        "modifiedTime": row.updated_at.to_string(),
        "isRemote": false,
        "summary": row.title,
        "context": { "cwd": row.cwd },
    })
}

fn named(params: &Value) -> Result<SessionId, ErrorObject> {
    let text = params["sessionId"].as_str().ok_or_else(|| ErrorObject::bad_params("`sessionId` is missing"))?;
    naming::meant(text).ok_or_else(|| unknown(text))
}

/// The session that is named, if the client knows it.
fn owned(visit: &Visit, params: &Value) -> Result<SessionId, ErrorObject> {
    let id = named(params)?;
    let server = visit.server();
    let is_known = server.base.has(server.house.home(), id);
    is_known.then_some(id).ok_or_else(|| unknown(params["sessionId"].as_str().unwrap_or_default()))
}
