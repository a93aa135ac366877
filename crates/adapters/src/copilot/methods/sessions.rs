//! `sessions.*`: the sessions that a client can see, whether or not it has joined them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use client::{SessionHandle, sessions};
use host::{Clock, Home, SystemClock};
use protocol::SessionId;
use rpc::ErrorObject;
use serde_json::{Map, Value, json};

use super::fields::{optional_text, required_text};
use super::server::{NamedSession, metadata, visible_session, visible_sessions};
use super::unhandled;
use crate::copilot::client_session::{self, session_not_found};
use crate::copilot::connection::CopilotConnection;
use crate::session_uuid;

/// Maximum sessions that one call may name.
const MAX_NAMED: usize = 1_000;

/// Maximum files of a session whose sizes are added up.
const MAX_COUNTED_FILES: usize = 10_000;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) async fn call(
    connection: &Arc<CopilotConnection>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "sessions.open" => open(connection, &params).await,
        "sessions.close" | "sessions.releaseLock" => {
            close(connection, &params).await?;
            Ok(json!({}))
        }
        // Everything is stored as it happens.
        "sessions.save" => stored_session(connection, &params).map(|_id| json!({})),
        "sessions.findByPrefix" => find_by_prefix(connection, &params).await,
        "sessions.findByTaskId" => find_by_task(connection, &params).await,
        "sessions.getLastForContext" => last_of_folder(connection, params["context"]["cwd"].as_str()).await,
        "sessions.getSizes" => sizes(connection).await,
        "sessions.checkInUse" => in_use(connection, &params).await,
        "sessions.enrichMetadata" => enrich(connection, &params).await,
        "sessions.bulkDelete" => delete_many(connection, &params).await,
        "sessions.pruneOld" => prune(connection, &params).await,
        "sessions.setAdditionalPlugins" => set_additional_plugins(connection, &params),
        "sessions.reloadPluginHooks" => reload_plugin_hooks(connection, &params),
        "sessions.loadDeferredRepoHooks" => {
            stored_session(connection, &params)?;
            // Bosun defers no hooks: those of trusted projects are there from the start.
            Ok(json!({ "startupPrompts": [], "hookCount": 0 }))
        }
        other => Err(unhandled(other)),
    }
}

/// Creates, resumes or joins a session with the options of a client that is no SDK session yet.
async fn open(connection: &Arc<CopilotConnection>, params: &Value) -> Result<Value, ErrorObject> {
    let mut options = match &params["options"] {
        options @ Value::Object(_) => options.clone(),
        _absent => json!({}),
    };
    let (id, status) = match required_text(params, "kind")? {
        "create" => {
            let created = client_session::create(connection, &options).await?;
            return Ok(json!({ "status": "created", "sessionId": created["sessionId"] }));
        }
        "resume" | "attach" => (Some(required_text(params, "sessionId")?.to_owned()), "resumed"),
        "resumeLast" => {
            let last = last_of_folder(connection, params["context"]["cwd"].as_str()).await?;
            (last["sessionId"].as_str().map(str::to_owned), "resumed")
        }
        kind @ ("remote" | "cloud" | "handoff") => {
            return Err(ErrorObject::internal(format!("sessions of the kind `{kind}` are a service of the vendor")));
        }
        other => return Err(ErrorObject::bad_params(format!("unknown kind of session `{other}`"))),
    };
    let Some(id) = id else { return Ok(json!({ "status": "not_found" })) };
    options["sessionId"] = id.as_str().into();
    client_session::resume(connection, &options).await?;
    Ok(json!({ "status": status, "sessionId": id }))
}

/// Closes a session if it is open in this process; it can be resumed.
async fn close(connection: &CopilotConnection, params: &Value) -> Result<(), ErrorObject> {
    let id = visible_session(connection, params)?;
    connection.leave_session(id).await;
    connection.server().evict(id).await;
    Ok(())
}

async fn find_by_prefix(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let prefix = required_text(params, "prefix")?;
    let all = visible_sessions(connection).await?;
    let mut matching = all.iter().filter(|session| session.name.starts_with(prefix));
    Ok(match (matching.next(), matching.next()) {
        (Some(only), None) if !prefix.is_empty() => json!({ "sessionId": only.name }),
        (_, _) => json!({}),
    })
}

async fn find_by_task(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let task = required_text(params, "taskId")?.to_owned();
    let home = connection.server().sessions.home().clone();
    let finding = tokio::task::spawn_blocking(move || sessions::of_task(&home, &task, 1));
    let found = finding.await.map_err(ErrorObject::internal)?.map_err(ErrorObject::internal)?;
    let all = visible_sessions(connection).await?;
    let session = all.iter().find(|session| found.contains(&session.row.id));
    Ok(session.map_or(json!({}), |session| json!({ "sessionId": session.name })))
}

/// The newest session, of a folder if one is named.
async fn last_of_folder(connection: &CopilotConnection, cwd: Option<&str>) -> Result<Value, ErrorObject> {
    let all = visible_sessions(connection).await?;
    let of_folder = all.iter().filter(|session| cwd.is_none_or(|cwd| session.row.cwd == cwd));
    let last = of_folder.max_by_key(|session| session.row.updated_at);
    Ok(last.map_or(json!({}), |session| json!({ "sessionId": session.name })))
}

async fn sizes(connection: &CopilotConnection) -> Result<Value, ErrorObject> {
    let (all, home) = (visible_sessions(connection).await?, connection.server().sessions.home().clone());
    let counting = tokio::task::spawn_blocking(move || {
        let size = |session: NamedSession| (session.name, json!(size_of(&home.session_dir(session.row.id))));
        all.into_iter().map(size).collect::<Map<String, Value>>()
    });
    Ok(json!({ "sizes": counting.await.map_err(ErrorObject::internal)? }))
}

async fn in_use(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let home = connection.server().sessions.home();
    let mut running = Vec::new();
    for name in named_sessions(params)? {
        if let Ok(id) = visible_session(connection, &json!({ "sessionId": name }))
            && is_running(home, id).await
        {
            running.push(name);
        }
    }
    Ok(json!({ "inUse": running }))
}

/// Whether a process runs the session.
async fn is_running(home: &Home, id: SessionId) -> bool {
    SessionHandle::new(home, id).connect().await.is_ok()
}

/// Completes what a client knows of sessions with what is stored.
async fn enrich(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let known: BTreeMap<String, Value> =
        visible_sessions(connection).await?.iter().map(|session| (session.name.clone(), metadata(session))).collect();
    let mut listed = params["sessions"].as_array().cloned().unwrap_or_default();
    for session in &mut listed {
        let stored = session["sessionId"].as_str().and_then(|name| known.get(name)).and_then(Value::as_object);
        let (Some(stored), Some(session)) = (stored, session.as_object_mut()) else { continue };
        session.extend(stored.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    Ok(json!({ "sessions": listed }))
}

async fn delete_many(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let mut freed = Map::new();
    for name in named_sessions(params)? {
        if let Ok(id) = stored_session(connection, &json!({ "sessionId": name })) {
            let bytes = super::server::remove_session(connection, id, &name).await?;
            freed.insert(name, bytes.into());
        }
    }
    Ok(json!({ "freedBytes": freed }))
}

/// Deletes sessions that have not changed for a number of days, no process runs, and no client has named.
async fn prune(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let days = params["olderThanDays"].as_f64().filter(|days| *days >= 0.0);
    let days = days.ok_or_else(|| ErrorObject::bad_params("`olderThanDays` is missing or not a positive number"))?;
    let before = SystemClock.now().minus(DAY.mul_f64(days.min(36_500.0)));
    let excluded = params["excludeSessionIds"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_dry_run = params["dryRun"] == true;
    let home = connection.server().sessions.home().clone();
    let (mut candidates, mut skipped, mut deleted, mut freed) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for session in visible_sessions(connection).await? {
        let is_kept = excluded.iter().any(|name| *name == session.name.as_str())
            || (params["includeNamed"] != true && session.name != session_uuid(session.row.id).to_string());
        if session.row.updated_at > before {
            continue;
        }
        if is_kept || is_running(&home, session.row.id).await {
            skipped.push(session.name);
            continue;
        }
        if is_dry_run {
            freed += size_of(&home.session_dir(session.row.id));
        } else if let Ok(bytes) = super::server::remove_session(connection, session.row.id, &session.name).await {
            freed += bytes;
            deleted.push(session.name.clone());
        }
        candidates.push(session.name);
    }
    Ok(json!({
        "candidates": candidates,
        "deleted": deleted,
        "skipped": skipped,
        "freedBytes": freed,
        "dryRun": is_dry_run,
    }))
}

/// Sets the plugins that sessions get in addition to those of their options.
fn set_additional_plugins(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let listed = params["plugins"].as_array().ok_or_else(|| ErrorObject::bad_params("`plugins` is not a list"))?;
    let folder = |plugin: &Value| {
        let path = optional_text(plugin, "cache_path").or_else(|| optional_text(&plugin["source"], "path"));
        let name = plugin["name"].as_str().unwrap_or_default();
        let path = path.ok_or_else(|| ErrorObject::bad_params(format!("the plugin `{name}` has no `cache_path`")))?;
        Ok(PathBuf::from(path))
    };
    let enabled = listed.iter().filter(|plugin| plugin["enabled"] != false);
    let folders = enabled.map(folder).collect::<Result<Vec<_>, ErrorObject>>()?;
    connection.server().set_additional_plugins(folders);
    Ok(json!({}))
}

/// The hooks of a session's plugins are read when it is opened, so that a session without plugins has nothing to reload.
fn reload_plugin_hooks(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    if connection.session(params)?.features.has_plugins() {
        let why = "hooks of plugins are read when a session is opened: resume the session to read them again";
        return Err(ErrorObject::internal(why));
    }
    Ok(json!({}))
}

/// The session in the parameters, if it exists and the client can see it.
fn stored_session(connection: &CopilotConnection, params: &Value) -> Result<SessionId, ErrorObject> {
    let id = visible_session(connection, params)?;
    let exists = connection.server().sessions.home().session_dir(id).is_dir();
    exists.then_some(id).ok_or_else(|| session_not_found(params["sessionId"].as_str().unwrap_or_default()))
}

/// The sessions that a call names.
fn named_sessions(params: &Value) -> Result<Vec<String>, ErrorObject> {
    let names = params["sessionIds"].as_array().ok_or_else(|| ErrorObject::bad_params("`sessionIds` is not a list"))?;
    if names.len() > MAX_NAMED {
        return Err(ErrorObject::bad_params(format!("`sessionIds` has more than {MAX_NAMED} names")));
    }
    Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The bytes of all files in a folder.
pub(super) fn size_of(folder: &Path) -> u64 {
    let (mut folders, mut files, mut bytes) = (vec![folder.to_owned()], 0, 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_gone) => {}
            }
            files += 1;
            if files > MAX_COUNTED_FILES {
                return bytes;
            }
        }
    }
    bytes
}
