//! `session.workspaces.*`: files that clients store with a session, in a separate folder.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use host::{Ids, TimeIds};
use protocol::api::{Method, SessionView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::{client_files, unhandled};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::history;
use crate::copilot::hosted_session::HostedSession;

/// Maximum bytes of one file.
pub(super) const FILE: usize = 4 << 20;

/// Maximum number of listed files.
pub(super) const MAX_LISTED_FILES: usize = 10_000;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    let folder = session.home().session_dir(session.id()).join("files");
    if let Some(copy) = session.state_copy()
        && client_files::METHODS.contains(&method)
    {
        return client_files::call(session, &copy.state, method, &params).await;
    }
    match method {
        "session.workspaces.listFiles" => blocking(move || Ok(json!({ "files": list(&folder)? }))).await,
        "session.workspaces.readFile" => {
            let path = path_within(&folder, required_text(&params, "path")?)?;
            blocking(move || Ok(json!({ "content": read(&path)? }))).await
        }
        "session.workspaces.createFile" => {
            let (path, content) =
                (path_within(&folder, required_text(&params, "path")?)?, required_text(&params, "content")?.to_owned());
            let existed = write(path, content).await?;
            let operation = if existed { "update" } else { "create" };
            let changed = json!({ "path": required_text(&params, "path")?, "operation": operation });
            session.record("session.workspace_file_changed", changed).await?;
            Ok(Value::Null)
        }
        "session.workspaces.saveLargePaste" => save_paste(&folder, required_text(&params, "content")?).await,
        "session.workspaces.getWorkspace" => {
            let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
            Ok(json!({ "workspace": workspace_view(session, &view), "path": folder.parent() }))
        }
        "session.workspaces.listCheckpoints" => {
            let checkpoints = checkpoints(session).await?;
            let listed = (1..).zip(&checkpoints).map(|(number, text)| {
                json!({ "number": number, "title": checkpoint_title(text), "filename": format!("{number:03}.md") })
            });
            Ok(json!({ "checkpoints": listed.collect::<Vec<_>>() }))
        }
        "session.workspaces.readCheckpoint" => {
            let number = params["number"].as_u64().and_then(|number| usize::try_from(number).ok());
            let number = number.ok_or_else(|| ErrorObject::bad_params("`number` is missing or not a number"))?;
            let checkpoints = checkpoints(session).await?;
            Ok(json!({ "content": number.checked_sub(1).and_then(|at| checkpoints.get(at)) }))
        }
        other => Err(unhandled(other)),
    }
}

/// A session's workspace in the SDK's format.
pub(crate) fn workspace_view(session: &HostedSession, view: &SessionView) -> Value {
    let mut workspace = json!({
        "id": session.name_for_clients(),
        "cwd": view.cwd,
        "created_at": view.created_at.to_string(),
        "updated_at": view.updated_at.to_string(),
    });
    if let Some(name) = session.session_name() {
        workspace["name"] = name.into();
    }
    workspace
}

/// The summaries that replaced parts of the root's conversation, oldest first.
async fn checkpoints(session: &HostedSession) -> Result<Vec<String>, ErrorObject> {
    Ok(checkpoints_of(&history::recorded_events(session.home(), session.id()).await?))
}

/// The summaries that replaced parts of the root's conversation in a history, oldest first.
pub(crate) fn checkpoints_of(events: &[Value]) -> Vec<String> {
    let is_checkpoint = |event: &&Value| event["type"] == "session.compaction_complete" && event["agentId"].is_null();
    let summary = |event: &Value| event["data"]["summaryContent"].as_str().map(str::to_owned);
    events.iter().filter(is_checkpoint).filter_map(summary).filter(|text| !text.is_empty()).collect()
}

/// The first line of a summary with text.
pub(crate) fn checkpoint_title(summary: &str) -> &str {
    summary.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty()).unwrap_or("Summary")
}

/// Stores a text that a client does not want in its prompt.
async fn save_paste(folder: &Path, content: &str) -> Result<Value, ErrorObject> {
    let name = format!("paste-{}.txt", TimeIds.uuid());
    let path = path_within(folder, &name)?;
    let saved = json!({ "filename": name, "filePath": path, "sizeBytes": content.len() });
    write(path, content.to_owned()).await?;
    Ok(json!({ "saved": saved }))
}

/// Writes a file; returns whether it existed.
async fn write(path: PathBuf, content: String) -> Result<bool, ErrorObject> {
    if content.len() > FILE {
        return Err(ErrorObject::bad_params(format!("`content` is larger than {FILE} bytes")));
    }
    let existed = blocking(move || {
        let existed = path.exists();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, content)?;
        Ok(existed.into())
    });
    Ok(existed.await? == true)
}

async fn blocking(work: impl FnOnce() -> io::Result<Value> + Send + 'static) -> Result<Value, ErrorObject> {
    let done = tokio::task::spawn_blocking(work).await.map_err(ErrorObject::internal)?;
    done.map_err(ErrorObject::internal)
}

/// A path below the folder. Only the user can write there, so no link leads out of it.
pub(super) fn path_within(folder: &Path, path: &str) -> Result<PathBuf, ErrorObject> {
    let relative = Path::new(path);
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    match is_plain && relative.file_name().is_some() {
        true => Ok(folder.join(relative)),
        false => Err(ErrorObject::bad_params(format!("`{path}` is outside the workspace files directory"))),
    }
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > FILE as u64 {
        return Err(io::Error::other(format!("the file is larger than {FILE} bytes")));
    }
    fs::read_to_string(path)
}

fn list(folder: &Path) -> io::Result<Vec<String>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(current) = folders.pop() {
        let entries = match fs::read_dir(&current) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries.take(MAX_LISTED_FILES) {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if let Ok(relative) = entry.path().strip_prefix(folder) {
                files.push(relative.display().to_string());
            }
        }
        if files.len() >= MAX_LISTED_FILES {
            break;
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside_the_session_folder() {
        let folder = Path::new("/f");
        assert_eq!(path_within(folder, "a/b.md").unwrap(), Path::new("/f/a/b.md"));
        for outside in ["", "/etc/passwd", "../x", "a/../../x", ".."] {
            assert!(path_within(folder, outside).is_err(), "{outside}");
        }
    }
}
