//! Methods that are about the server, or about sessions that a client does not hold yet.

use std::sync::Arc;

use host::{Clock, SystemClock};
use protocol::SessionId;
use rpc::ErrorObject;
use serde_json::{Value, json};
use store::{SessionIndex, SessionRow, StoreError};

use super::{discover, unhandled};
use crate::copilot::client_session::{self, session_not_found};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::session_names;
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

pub(crate) async fn call(visit: &Arc<CopilotConnection>, method: &str, params: Value) -> Result<Value, ErrorObject> {
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
        "session.create" => client_session::create(visit, &params).await,
        "session.resume" => client_session::resume(visit, &params).await,
        "session.detach" | "session.destroy" => {
            visit.leave_session(session_param(&params)?).await;
            Ok(json!({ "success": true }))
        }
        "session.delete" => delete(visit, &params).await,
        "session.list" | "sessions.list" => list(visit, &params).await,
        "sessions.fork" => {
            let copy = client_session::fork(visit, &params).await?;
            Ok(json!({ "sessionId": session_uuid(copy).to_string() }))
        }
        "session.getLastId" => {
            let newest = known_sessions(visit).await?.into_iter().max_by_key(|known| known.row.updated_at);
            Ok(newest.map_or(json!({}), |known| json!({ "sessionId": known.called })))
        }
        "session.getMetadata" => {
            let wanted = session_param(&params)?;
            let found = known_sessions(visit).await?.into_iter().find(|known| known.row.id == wanted);
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

fn connect(visit: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    visit.admit(params["token"].as_str())?;
    let mut answer = json!({ "ok": true, "protocolVersion": PROTOCOL, "version": env!("CARGO_PKG_VERSION") });
    if let Some(known) = params["supportedTaskKinds"].as_array() {
        let both = TASK_KINDS.into_iter().filter(|kind| known.iter().any(|known| known == kind));
        answer["taskKinds"] = both.collect();
    }
    Ok(answer)
}

async fn messages(visit: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let (home, id) = (visit.server().host.home(), own_session(visit, params)?);
    Ok(json!({ "events": crate::copilot::history::recorded_events(home, id).await? }))
}

async fn delete(visit: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let id = own_session(visit, params)?;
    visit.leave_session(id).await;
    visit.server().evict(id).await;
    let home = visit.server().host.home().clone();
    let removing = tokio::task::spawn_blocking(move || -> Result<(), StoreError> {
        store::remove_session(&home, id)?;
        SessionIndex::open(&home)?.remove(id)
    });
    match removing.await.map_err(ErrorObject::internal)? {
        Ok(()) => {
            let told = json!({ "type": "session.deleted", "sessionId": params["sessionId"] });
            visit.peer().notify("session.lifecycle", told).await;
            Ok(json!({ "success": true }))
        }
        Err(error) => Ok(json!({ "success": false, "error": error.to_string() })),
    }
}

async fn list(visit: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let cwd = params["filter"]["cwd"].as_str().or(params["filter"]["workingDirectory"].as_str());
    let known = known_sessions(visit).await?;
    let wanted = known.iter().filter(|known| cwd.is_none_or(|cwd| known.row.cwd == cwd));
    Ok(json!({ "sessions": wanted.map(metadata).collect::<Vec<_>>() }))
}

/// A session, and what clients call it.
struct NamedSession {
    row: SessionRow,
    called: String,
}

/// Every session there is; those that are held are as they are now.
async fn known_sessions(visit: &CopilotConnection) -> Result<Vec<NamedSession>, ErrorObject> {
    let (home, base) = (visit.server().host.home().clone(), visit.server().base_dir.clone());
    let reading = tokio::task::spawn_blocking(move || -> Result<Vec<NamedSession>, StoreError> {
        let rows = SessionIndex::open(&home)?.reconcile(&home)?.list(None)?;
        let known = |row: SessionRow| NamedSession { called: session_names::session_name(&home, row.id), row };
        Ok(rows.into_iter().filter(|row| base.owns(&home, row.id)).map(known).collect())
    });
    reading.await.map_err(ErrorObject::internal)?.map_err(ErrorObject::internal)
}

fn metadata(NamedSession { row, called }: &NamedSession) -> Value {
    json!({
        "sessionId": called,
        "startTime": row.created_at.to_string(),
        "modifiedTime": row.updated_at.to_string(),
        "isRemote": false,
        "summary": row.title,
        "context": { "cwd": row.cwd },
    })
}

fn session_param(params: &Value) -> Result<SessionId, ErrorObject> {
    let text = params["sessionId"].as_str().ok_or_else(|| ErrorObject::bad_params("`sessionId` is missing"))?;
    session_names::resolve_session(text).ok_or_else(|| session_not_found(text))
}

/// The session that is named, if the client knows it.
fn own_session(visit: &CopilotConnection, params: &Value) -> Result<SessionId, ErrorObject> {
    let id = session_param(params)?;
    let server = visit.server();
    let is_known = server.base_dir.owns(server.host.home(), id);
    is_known.then_some(id).ok_or_else(|| session_not_found(params["sessionId"].as_str().unwrap_or_default()))
}
