//! Methods about the server, or about sessions that the client has not joined.

use std::sync::Arc;

use client::{SessionQuery, SessionRow, StoreError, sessions};
use host::{Clock, SystemClock};
use protocol::SessionId;
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::{discover, mcp, unhandled};
use crate::copilot::client_session::{self, session_not_found};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::option_table::connect_options_without_effect;
use crate::copilot::session_names;
use crate::copilot::state_provider::StateProvider;
use crate::session_uuid;

/// The version of the Copilot SDK's protocol.
const PROTOCOL_VERSION: u32 = 3;

/// The kinds of tasks that clients can report or start.
const TASK_KINDS: [&str; 3] = ["agent", "client", "shell"];

/// The methods that this module answers.
const SERVER_METHODS: [&str; 23] = [
    "connect",
    "ping",
    "status.get",
    "auth.getStatus",
    "models.list",
    "agents.discover",
    "tools.list",
    "mcp.discover",
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
    "sessionFs.setProvider",
];

/// Whether a method is answered here.
pub(crate) fn serves(method: &str) -> bool {
    SERVER_METHODS.contains(&method)
}

pub(crate) async fn call(
    connection: &Arc<CopilotConnection>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "connect" => connect(connection, &params),
        "ping" => Ok(json!({
            "message": format!("pong: {}", params["message"].as_str().unwrap_or_default()),
            "timestamp": SystemClock.now().to_string(),
            "protocolVersion": PROTOCOL_VERSION,
        })),
        "status.get" => Ok(json!({ "version": env!("CARGO_PKG_VERSION"), "protocolVersion": PROTOCOL_VERSION })),
        "auth.getStatus" => Ok(json!({ "isAuthenticated": false, "statusMessage": "Bosun needs no login" })),
        "models.list" | "agents.discover" | "tools.list" => discover::call(connection, method, &params),
        "mcp.discover" => mcp::discover(connection, &params).await,
        "runtime.shutdown" => {
            connection.server().close();
            Ok(Value::Null)
        }
        "sessionFs.setProvider" => {
            let provider = StateProvider::read(connection.peer(), &params)?;
            match connection.server().set_state_provider(provider) {
                true => Ok(json!({ "success": true })),
                false => Err(ErrorObject::internal("another client keeps the state of sessions, or sessions are open")),
            }
        }
        "session.create" => client_session::create(connection, &params).await,
        "session.resume" => client_session::resume(connection, &params).await,
        "session.detach" | "session.destroy" => {
            connection.leave_session(session_param(&params)?).await;
            Ok(json!({ "success": true }))
        }
        "session.delete" => delete(connection, &params).await,
        "session.list" | "sessions.list" => list(connection, &params).await,
        "sessions.fork" => {
            let copy = client_session::fork(connection, &params).await?;
            Ok(json!({ "sessionId": session_uuid(copy).to_string() }))
        }
        "session.getLastId" => {
            let newest = visible_sessions(connection).await?.into_iter().max_by_key(|session| session.row.updated_at);
            Ok(newest.map_or(json!({}), |session| json!({ "sessionId": session.name })))
        }
        "session.getMetadata" => {
            let id = session_param(&params)?;
            let session = visible_sessions(connection).await?.into_iter().find(|session| session.row.id == id);
            Ok(session.map_or(json!({}), |session| json!({ "session": metadata(&session) })))
        }
        "session.getForeground" => Ok(json!({})),
        "session.setForeground" => Ok(
            json!({ "success": false, "error": "Not running in TUI+server mode: there is no screen to show a session on" }),
        ),
        "session.getMessages" => messages(connection, &params).await,
        other => Err(unhandled(other)),
    }
}

fn connect(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    connection.admit(params["token"].as_str())?;
    connection.set_without_effect(connect_options_without_effect(params));
    if params["enableGitHubTelemetryForwarding"] == true {
        connection.enable_telemetry();
    }
    let mut answer = json!({ "ok": true, "protocolVersion": PROTOCOL_VERSION, "version": env!("CARGO_PKG_VERSION") });
    if let Some(supported) = params["supportedTaskKinds"].as_array() {
        let common = TASK_KINDS.into_iter().filter(|kind| supported.iter().any(|supported| supported == kind));
        answer["taskKinds"] = common.collect();
    }
    Ok(answer)
}

async fn messages(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    // A client reads a session that it has created or resumed.
    let session = connection.session(params)?;
    let (home, id) = (session.home(), session.id());
    Ok(json!({ "events": crate::copilot::history::recorded_events(home, id).await? }))
}

async fn delete(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let id = match visible_session(connection, params) {
        Ok(id) => id,
        Err(error) => return Ok(json!({ "success": false, "error": error.message })),
    };
    match remove_session(connection, id, params["sessionId"].as_str().unwrap_or_default()).await {
        Ok(_bytes) => Ok(json!({ "success": true })),
        Err(error) => Ok(json!({ "success": false, "error": error.in_one_line() })),
    }
}

/// Closes and removes a session; returns the bytes that it had on disk.
pub(super) async fn remove_session(
    connection: &CopilotConnection,
    id: SessionId,
    name: &str,
) -> Result<u64, ErrorObject> {
    connection.leave_session(id).await;
    connection.server().evict(id).await;
    let home = connection.server().sessions.home().clone();
    let removing = tokio::task::spawn_blocking(move || {
        let bytes = super::sessions::size_of(&home.session_dir(id));
        sessions::remove(&home, id).map(|()| bytes)
    });
    let bytes = removing.await.map_err(ErrorObject::internal)?.map_err(ErrorObject::internal)?;
    connection.peer().notify("session.lifecycle", json!({ "type": "session.deleted", "sessionId": name })).await;
    Ok(bytes)
}

async fn list(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let cwd = params["filter"]["cwd"].as_str().or(params["filter"]["workingDirectory"].as_str());
    let sessions = visible_sessions(connection).await?;
    let matching = sessions.iter().filter(|session| cwd.is_none_or(|cwd| session.row.cwd == cwd));
    Ok(json!({ "sessions": matching.map(metadata).collect::<Vec<_>>() }))
}

/// A session and its name for clients.
pub(super) struct NamedSession {
    pub(super) row: SessionRow,
    pub(super) name: String,
}

/// All sessions that the client can see.
pub(super) async fn visible_sessions(connection: &CopilotConnection) -> Result<Vec<NamedSession>, ErrorObject> {
    let (home, base) = (connection.server().sessions.home().clone(), connection.server().base_dir.clone());
    let reading = tokio::task::spawn_blocking(move || -> Result<Vec<NamedSession>, StoreError> {
        let rows = sessions::list(&home, &SessionQuery::default())?.rows;
        let named = |row: SessionRow| NamedSession { name: session_names::session_name(&home, row.id), row };
        Ok(rows.into_iter().filter(|row| base.can_see(&home, row.id)).map(named).collect())
    });
    reading.await.map_err(ErrorObject::internal)?.map_err(ErrorObject::internal)
}

pub(super) fn metadata(NamedSession { row, name }: &NamedSession) -> Value {
    json!({
        "sessionId": name,
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

/// The session in the parameters, if the client can see it.
pub(super) fn visible_session(connection: &CopilotConnection, params: &Value) -> Result<SessionId, ErrorObject> {
    let id = session_param(params)?;
    let server = connection.server();
    let is_visible = server.base_dir.can_see(server.sessions.home(), id);
    is_visible.then_some(id).ok_or_else(|| session_not_found(params["sessionId"].as_str().unwrap_or_default()))
}
