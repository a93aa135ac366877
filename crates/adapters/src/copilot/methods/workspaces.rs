//! `session.workspaces.*`: files that clients store with a session, in a separate folder.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

/// Maximum bytes of one file.
const FILE: usize = 4 << 20;

/// Maximum number of listed files.
const MAX_LISTED_FILES: usize = 10_000;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    let folder = session.home().session_dir(session.id()).join("files");
    match method {
        "session.workspaces.listFiles" => blocking(move || Ok(json!({ "files": list(&folder)? }))).await,
        "session.workspaces.readFile" => {
            let path = path_within(&folder, required_text(&params, "path")?)?;
            blocking(move || Ok(json!({ "content": read(&path)? }))).await
        }
        "session.workspaces.createFile" => {
            let (path, content) =
                (path_within(&folder, required_text(&params, "path")?)?, required_text(&params, "content")?.to_owned());
            if content.len() > FILE {
                return Err(ErrorObject::bad_params(format!("`content` is larger than {FILE} bytes")));
            }
            blocking(move || {
                fs::create_dir_all(path.parent().unwrap_or(&folder))?;
                fs::write(&path, content)?;
                Ok(Value::Null)
            })
            .await
        }
        other => Err(unhandled(other)),
    }
}

async fn blocking(work: impl FnOnce() -> io::Result<Value> + Send + 'static) -> Result<Value, ErrorObject> {
    let done = tokio::task::spawn_blocking(work).await.map_err(ErrorObject::internal)?;
    done.map_err(ErrorObject::internal)
}

/// A path below the folder. Only the user can write there, so no link leads out of it.
fn path_within(folder: &Path, path: &str) -> Result<PathBuf, ErrorObject> {
    let relative = Path::new(path);
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    match is_plain && relative.file_name().is_some() {
        true => Ok(folder.join(relative)),
        false => Err(ErrorObject::bad_params(format!("`{path}` is not inside the session's folder"))),
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
