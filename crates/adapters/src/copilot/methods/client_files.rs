//! The files of a session's workspace if the client keeps them.

use std::path::Path;

use host::{Ids, TimeIds};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use super::workspaces::{FILE, MAX_LISTED_FILES, path_within};
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::state_provider::StateFiles;

/// The methods that are answered here.
pub(super) const METHODS: [&str; 4] = [
    "session.workspaces.listFiles",
    "session.workspaces.readFile",
    "session.workspaces.createFile",
    "session.workspaces.saveLargePaste",
];

pub(super) async fn call(
    session: &HostedSession,
    state: &StateFiles,
    method: &str,
    params: &Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.workspaces.listFiles" => Ok(json!({ "files": list(state).await? })),
        "session.workspaces.readFile" => {
            let path = client_path(state, required_text(params, "path")?)?;
            Ok(json!({ "content": state.read(&path).await? }))
        }
        "session.workspaces.createFile" => {
            let path = required_text(params, "path")?;
            let existed = write(state, path, required_text(params, "content")?).await?;
            let operation = if existed { "update" } else { "create" };
            session.record("session.workspace_file_changed", json!({ "path": path, "operation": operation })).await?;
            Ok(Value::Null)
        }
        "session.workspaces.saveLargePaste" => {
            let (name, content) = (format!("paste-{}.txt", TimeIds.uuid()), required_text(params, "content")?);
            write(state, &name, content).await?;
            let path = client_path(state, &name)?;
            Ok(json!({ "saved": { "filename": name, "filePath": path, "sizeBytes": content.len() } }))
        }
        other => Err(unhandled(other)),
    }
}

/// Writes a file with the folders above it; returns whether it existed.
async fn write(state: &StateFiles, path: &str, content: &str) -> Result<bool, ErrorObject> {
    if content.len() > FILE {
        return Err(ErrorObject::bad_params(format!("`content` is larger than {FILE} bytes")));
    }
    let full = client_path(state, path)?;
    let existed = state.exists(&full).await?;
    let parts = parts_of(path);
    let folders = parts.split_last().map_or(&[][..], |(_, folders)| folders);
    state.create_folder(&files_path(state, folders)).await?;
    state.write(&full, content).await?;
    Ok(existed)
}

/// The files, as paths below the folder of the workspace.
async fn list(state: &StateFiles) -> Result<Vec<String>, ErrorObject> {
    let (mut files, mut folders) = (Vec::new(), vec![String::new()]);
    if !state.exists(&files_path(state, &[])).await? {
        return Ok(files);
    }
    while let Some(folder) = folders.pop().filter(|_| files.len() < MAX_LISTED_FILES) {
        for (name, is_folder) in state.list(&files_path(state, &parts_of(&folder))).await? {
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if is_folder { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// The client's path of a file, which must be below the folder of the workspace.
fn client_path(state: &StateFiles, path: &str) -> Result<String, ErrorObject> {
    path_within(Path::new("files"), path)?;
    if state.provider.separates_with(path) {
        return Err(ErrorObject::bad_params(format!("`{path}` is outside the workspace files directory")));
    }
    Ok(files_path(state, &parts_of(path)))
}

fn files_path(state: &StateFiles, parts: &[&str]) -> String {
    state.path(&[&["files"], parts].concat())
}

fn parts_of(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !matches!(*part, "" | ".")).collect()
}
