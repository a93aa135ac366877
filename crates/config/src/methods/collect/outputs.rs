//! Removes the output of removed tasks and of tasks that are in no session.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use client::{SessionHandle, StoreError};
use host::Home;
use protocol::api::{OutputCleanup, TasksParams};
use protocol::{SessionId, TaskId};

use super::{CollectNote, CollectNotes};

/// Removes unreachable task output of these sessions.
pub(super) fn collect(
    home: &Home,
    sessions: impl Iterator<Item = SessionId>,
    dry_run: bool,
    note: CollectNotes<'_>,
) -> OutputCleanup {
    let mut outputs = OutputCleanup::default();
    for session in sessions {
        let folder = home.output_dir(session);
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        // List the files before reading the session: a task is in the session before its output is on disk.
        let tasks: Vec<TaskId> =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        let Ok(unreachable) = unreachable_outputs(home, session, tasks) else { continue };
        for task in unreachable {
            let path = folder.join(task.to_string());
            let bytes = folder_size(&path);
            match if dry_run { Ok(()) } else { fs::remove_dir_all(&path) } {
                Ok(()) => outputs = OutputCleanup { removed: outputs.removed + 1, bytes: outputs.bytes + bytes },
                Err(error) => note(CollectNote::Failed(format!("{}: {error}", path.display()))),
            }
        }
    }
    outputs
}

/// The tasks whose output is unreachable: removed ones, and ones that are in no session.
fn unreachable_outputs(home: &Home, session: SessionId, candidates: Vec<TaskId>) -> Result<Vec<TaskId>, StoreError> {
    if candidates.is_empty() {
        return Ok(candidates);
    }
    let session = SessionHandle::new(home, session);
    let is_running = session.owner_pid()?.is_some();
    let tasks = session.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() })?.tasks;
    let removed: BTreeMap<TaskId, bool> = tasks.into_iter().map(|task| (task.id, task.forgotten)).collect();
    // A task unknown to a running session may be recorded in a moment.
    Ok(candidates.into_iter().filter(|task| removed.get(task).copied().unwrap_or(!is_running)).collect())
}

fn folder_size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
}
