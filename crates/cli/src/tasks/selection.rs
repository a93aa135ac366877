//! Finds the session and the task that a command names.

use std::collections::BTreeMap;

use client::{SessionHandle, StoreError};
use host::Home;
use protocol::api::{SessionView, TaskView, TasksParams};
use protocol::{NamedTask, SessionId, TaskId, TaskLookupError, find_task};
use tui::print;

use crate::args::TaskArgs;
use crate::error::CliError;
use crate::run::{find_session, latest_session};
use crate::setup;

/// Sessions looked up by a task id: two are enough to notice that it is ambiguous.
const MAX_MATCHING_SESSIONS: u32 = 2;

/// The maximum number of paths listed in an error.
const MAX_LISTED_PATHS: usize = 20;

/// The paths of tasks.
pub(super) type TaskPaths = BTreeMap<TaskId, String>;

/// A task of a session.
#[derive(Debug)]
pub(super) struct SelectedTask {
    pub(super) session: SessionId,
    pub(super) handle: SessionHandle,
    pub(super) task: TaskView,
}

impl SelectedTask {
    /// Finds the named task. A task named by its id may be in any session.
    pub(super) fn find(home: &Home, args: &TaskArgs) -> Result<SelectedTask, CliError> {
        let session = match &args.session {
            Some(prefix) => find_session(home, prefix)?,
            None => match latest_in_folder(home) {
                Ok(session) => session,
                Err(failure) => return find_anywhere(home, &args.task).unwrap_or(Err(failure)),
            },
        };
        let elsewhere = || if args.session.is_none() { find_anywhere(home, &args.task) } else { None };
        find_in_session(home, session, &args.task).or_else(|failure| elsewhere().unwrap_or(Err(failure)))
    }

    /// The paths of all tasks of the session.
    pub(super) fn paths(&self) -> Result<TaskPaths, StoreError> {
        let tasks = self.handle.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() })?.tasks;
        Ok(tasks.into_iter().map(|task| (task.id, task.path)).collect())
    }

    /// The view of the session.
    pub(super) fn session_view(&self) -> Result<SessionView, StoreError> {
        self.handle.view()
    }
}

/// The newest session of this folder.
pub(super) fn latest_in_folder(home: &Home) -> Result<SessionId, CliError> {
    let cwd = setup::working_folder(None)?.display().to_string();
    latest_session(home, &cwd)?.ok_or_else(|| {
        CliError::usage(format!("there is no session in {cwd}"))
            .with_hint("`bosun tasks --all` lists the tasks of all sessions, --session those of one")
    })
}

fn find_in_session(home: &Home, session: SessionId, name: &str) -> Result<SelectedTask, CliError> {
    let handle = SessionHandle::new(home, session);
    let tasks = handle.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() })?.tasks;
    match resolve_name(&tasks, name) {
        Ok(task) => Ok(SelectedTask { session, handle, task: task.clone() }),
        Err(error) => Err(lookup_failure(&error, &tasks, session, name)),
    }
}

/// The task with this id, in any session.
fn find_anywhere(home: &Home, name: &str) -> Option<Result<SelectedTask, CliError>> {
    let hex = name.strip_prefix("task-").unwrap_or(name);
    if hex.len() < 6 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let sessions = client::sessions::of_task(home, hex, MAX_MATCHING_SESSIONS).ok()?;
    let mut matching: Vec<SelectedTask> =
        sessions.into_iter().filter_map(|id| find_in_session(home, id, name).ok()).collect();
    match matching.len() {
        0 => None,
        1 => matching.pop().map(Ok),
        _more => Some(Err(CliError::usage(format!("several sessions have a task that begins with `{name}`"))
            .with_hint("give more of the id, or the session with --session"))),
    }
}

/// Finds the named task, preferring tasks that were not removed.
fn resolve_name<'a>(tasks: &'a [TaskView], name: &str) -> Result<&'a TaskView, TaskLookupError> {
    let named =
        |task: &'a TaskView| NamedTask { id: task.id, parent: task.parent, name: &*task.name, path: &*task.path };
    let Some(root) = tasks.iter().find(|task| task.parent.is_none()).map(named) else {
        return Err(TaskLookupError::NotFound);
    };
    let current: Vec<NamedTask<&str>> = tasks.iter().filter(|task| !task.forgotten).map(named).collect();
    let id = match find_task(&current, &root, name) {
        Err(TaskLookupError::NotFound) => find_task(&tasks.iter().map(named).collect::<Vec<_>>(), &root, name)?,
        found => found?,
    };
    tasks.iter().find(|task| task.id == id).ok_or(TaskLookupError::NotFound)
}

fn lookup_failure(error: &TaskLookupError, tasks: &[TaskView], session: SessionId, name: &str) -> CliError {
    let name = print::sanitize(name);
    match error {
        TaskLookupError::Ambiguous(paths) => {
            CliError::usage(format!("`{name}` is ambiguous: {}", join_paths(paths.iter())))
                .with_hint("give the path, or more of the id")
        }
        TaskLookupError::NotFound => {
            let paths = join_paths(tasks.iter().filter(|task| !task.forgotten).map(|task| &task.path));
            CliError::usage(format!("there is no task `{name}` in {session}; its tasks are: {paths}"))
                .with_hint("`bosun tasks --all` lists those of every session")
        }
    }
}

fn join_paths<'a>(paths: impl Iterator<Item = &'a String>) -> String {
    let mut paths: Vec<String> = paths.take(MAX_LISTED_PATHS + 1).map(|path| print::sanitize(path)).collect();
    if paths.len() > MAX_LISTED_PATHS {
        paths[MAX_LISTED_PATHS] = "…".into();
    }
    paths.join(", ")
}
