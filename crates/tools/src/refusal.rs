//! Refusals for files of the workspace, with the file's name and a remedy.

use std::ffi::OsString;
use std::path::Path;

use host::{CheckedPath, FileError};

use crate::text::nearest;
use crate::workspace_files::display_path;
use crate::{FileAccess, ToolContext, ToolError};

/// The refusal to change a file that changed since the agent saw it.
pub(crate) fn stale_refusal(shown: &str) -> ToolError {
    ToolError::Refused(format!("{shown} has changed since you viewed it; view it again before you change it"))
}

/// The refusal for a file that could not be used.
pub(crate) fn refusal(cx: &ToolContext, place: &CheckedPath, error: FileError) -> ToolError {
    let shown = display_path(cx, place.path());
    match error {
        FileError::Missing(_) => missing_refusal(cx, place.path()),
        FileError::Changed(_) => stale_refusal(&shown),
        FileError::Exists(_) => {
            ToolError::Refused(format!("{shown} already exists; view it before you replace it, or use `edit`"))
        }
        FileError::TooLarge { size, most, .. } => ToolError::Refused(format!(
            "{shown} has {size} bytes, and at most {most} can be changed here; use the shell, for example `sed -i`"
        )),
        FileError::FolderMissing(_)
        | FileError::Directory(_)
        | FileError::Special { .. }
        | FileError::Forbidden(_)
        | FileError::Replaced(_)
        | FileError::Full(_)
        | FileError::ReadOnly(_)
        | FileError::Io { .. } => ToolError::Refused(error.to_string()),
    }
}

/// The refusal for a path that does not exist, with the closest names.
pub(crate) fn missing_refusal(cx: &ToolContext, path: &Path) -> ToolError {
    let parent = path.ancestors().skip(1).find_map(|folder| Some((folder, readable_names(cx, folder)?)));
    let similar = parent.map(|(folder, names)| {
        let wanted = path.strip_prefix(folder).ok().and_then(|rest| rest.iter().next()).unwrap_or_default();
        nearest(&wanted.to_string_lossy(), names)
            .iter()
            .map(|name| display_path(cx, &folder.join(name)))
            .collect::<Vec<_>>()
    });
    let hint = match similar {
        Some(similar) if !similar.is_empty() => format!("did you mean {}?", similar.join(", ")),
        Some(_) | None => "look for it with `glob`".to_owned(),
    };
    ToolError::Refused(format!("{} does not exist; {hint}", display_path(cx, path)))
}

/// The names in a folder of the workspace that the call may read.
fn readable_names<'a>(cx: &'a ToolContext, path: &'a Path) -> Option<impl Iterator<Item = String> + 'a> {
    let folder = cx.workspace.checked_path(path)?.open_folder_to_list().ok()?;
    let may_be_read = move |name: &OsString| cx.access_guard.check(&path.join(name), FileAccess::Read).is_ok();
    let names = folder.flatten().take(10_000).map(|entry| entry.name).filter(may_be_read);
    Some(names.map(|name| name.to_string_lossy().into_owned()))
}
