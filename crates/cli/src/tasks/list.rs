//! Prints tasks as a tree.

use std::collections::{HashMap, HashSet};

use client::{SessionHandle, SessionTaskList, StoreError};
use host::{Clock, Home, SystemClock};
use protocol::api::{SessionView, TaskView, TasksParams};
use protocol::{SessionId, TaskForm, TaskId, TaskOutcome, TaskState, TaskType, Timestamp};
use serde::Serialize;
use tui::money::Money;
use tui::print;
use unicode_width::UnicodeWidthStr;

use super::selection::latest_in_folder;
use crate::args::TaskListArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::run::find_session;

const HEADERS: [&str; 8] = ["task", "state", "agent", "model", "turns", "tokens", "cost", "age"];

/// The default number of sessions whose tasks are listed.
const DEFAULT_SESSIONS: u64 = 50;

/// The maximum width of a name.
const MAX_NAME_COLUMNS: usize = 40;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionTasks {
    session: SessionId,
    title: String,
    /// The process that runs it now.
    owner_pid: Option<u32>,
    tasks: Vec<TaskView>,
    #[serde(skip)]
    model: String,
    /// The tasks that wait for the user's decision.
    #[serde(skip)]
    asking: HashSet<TaskId>,
}

pub(super) fn list(home: &Home, options: &TaskListArgs) -> Result<CommandExit, CliError> {
    if options.all {
        return list_all(home, options);
    }
    let session =
        options.session.as_ref().map_or_else(|| latest_in_folder(home), |prefix| find_session(home, prefix))?;
    let listed = read_tasks(home, session, options)?;
    if options.json {
        print::json(&listed);
    } else {
        print_table(&[listed], SystemClock.now());
    }
    Ok(CommandExit::Success)
}

/// Lists the tasks of every session, newest session first, one page of sessions at a time.
fn list_all(home: &Home, options: &TaskListArgs) -> Result<CommandExit, CliError> {
    let (mut all, mut exit) = (Vec::new(), CommandExit::Success);
    let limit = usize::try_from(options.limit.unwrap_or(DEFAULT_SESSIONS)).unwrap_or(usize::MAX);
    let ids = client::sessions::with_task_state(home, options.state.as_deref())?;
    let mut ids = ids.into_iter().skip(usize::try_from(options.offset).unwrap_or(usize::MAX));
    let mut next_offset = options.offset;
    for id in ids.by_ref() {
        next_offset += 1;
        match read_tasks(home, id, options) {
            Ok(listed) if listed.tasks.is_empty() => {}
            Ok(listed) => all.push(listed),
            Err(error) => {
                print::error(&format!("{id} is not listed: {error}"));
                exit = CommandExit::Failed;
            }
        }
        if all.len() >= limit {
            break;
        }
    }
    if options.json {
        print::json(&all);
    } else {
        print_table(&all, SystemClock.now());
    }
    let older = ids.count();
    if older > 0 {
        print::note(format_args!("{older} older sessions are not listed: --offset {next_offset} lists them"));
    }
    Ok(exit)
}

fn read_tasks(home: &Home, session: SessionId, options: &TaskListArgs) -> Result<SessionTasks, StoreError> {
    let params = TasksParams {
        state: options.state.clone(),
        kind: options.kind.as_deref().and_then(TaskType::from_name),
        below: options.below.as_ref().map(|path| absolute_path(path)),
        all: options.removed,
        ..TasksParams::all_tasks()
    };
    let SessionTaskList { session: view, tasks, open_asks } = SessionHandle::new(home, session).task_list(&params)?;
    let SessionView { title, owner_pid, model, .. } = view;
    let asking = open_asks.into_iter().map(|ask| ask.task).collect();
    Ok(SessionTasks { session, title, owner_pid, tasks, model, asking })
}

/// The path from the root, for absolute and relative input.
fn absolute_path(path: &str) -> String {
    let path = path.trim_end_matches('/');
    if path.starts_with('/') { path.to_owned() } else { format!("/root/{path}") }
}

fn print_table(all: &[SessionTasks], now: Timestamp) {
    if all.iter().all(|listed| listed.tasks.is_empty()) {
        return print::note("no tasks");
    }
    let mut rows = vec![(HEADERS.map(str::to_owned), "doing".to_owned())];
    for listed in all {
        rows.extend(tree(&listed.tasks).iter().map(|row| (cells(row, listed, now), describe_activity(row.task))));
    }
    let widths: [usize; 8] =
        std::array::from_fn(|column| rows.iter().map(|(cells, _)| cells[column].width()).max().unwrap_or(0));
    let line = |(cells, activity): &([String; 8], String)| {
        let aligned: Vec<String> = (0..8)
            .map(|column| match column {
                0..4 => print::fit_cell(&cells[column], widths[column]),
                _numbers => format!("{:>1$}", cells[column], widths[column]),
            })
            .collect();
        format!("{}  {activity}", aligned.join("  ")).trim_end().to_owned()
    };
    let mut rows = rows.iter();
    rows.next().into_iter().map(line).for_each(print::row);
    for listed in all {
        let owner = listed.owner_pid.map_or_else(|| "not running".to_owned(), |pid| format!("process {pid}"));
        let title = print::sanitize(&print::one_line(&listed.title, 60));
        print::row(format_args!("{}  {owner}  {title}", listed.session));
        rows.by_ref().take(listed.tasks.len()).map(line).for_each(print::row);
    }
}

/// A task with its place in the tree.
#[derive(Debug)]
struct TaskTreeRow<'a> {
    task: &'a TaskView,
    /// Its depth in the drawn tree.
    depth: usize,
    /// Its name, or its path from the nearest shown ancestor if its parent is not shown.
    name: &'a str,
}

/// Parents before their children, children in the order of their creation. A task whose parent is not shown is drawn
/// below its nearest shown ancestor, or at the top with its whole path.
fn tree(tasks: &[TaskView]) -> Vec<TaskTreeRow<'_>> {
    let ids_by_path: HashMap<&str, TaskId> = tasks.iter().map(|task| (task.path.as_str(), task.id)).collect();
    let mut children_of: HashMap<Option<TaskId>, Vec<(&TaskView, &str)>> = HashMap::new();
    for task in tasks.iter().rev() {
        let (ancestor, name) = ancestor_and_name(task, &ids_by_path);
        children_of.entry(ancestor).or_default().push((task, name));
    }
    let top = children_of.remove(&None).unwrap_or_default();
    let mut unvisited: Vec<TaskTreeRow<'_>> =
        top.into_iter().map(|(task, name)| TaskTreeRow { task, depth: 0, name }).collect();
    let mut ordered = Vec::with_capacity(tasks.len());
    while let Some(row) = unvisited.pop() {
        let (children, depth) = (children_of.remove(&Some(row.task.id)).unwrap_or_default(), row.depth + 1);
        unvisited.extend(children.into_iter().map(|(task, name)| TaskTreeRow { task, depth, name }));
        ordered.push(row);
    }
    ordered
}

/// The nearest shown ancestor, and the task's name below it.
fn ancestor_and_name<'a>(task: &'a TaskView, ids_by_path: &HashMap<&str, TaskId>) -> (Option<TaskId>, &'a str) {
    if task.parent.is_none() {
        return (None, &task.name);
    }
    let slashes = task.path.rmatch_indices('/').map(|(end, _)| end);
    let ancestor = slashes.filter_map(|end| Some((*ids_by_path.get(task.path.get(..end)?)?, end))).next();
    match ancestor {
        Some((id, _)) if task.parent == Some(id) => (Some(id), &task.name),
        Some((id, end)) => (Some(id), task.path.get(end + 1..).unwrap_or(&task.name)),
        None => (None, &task.path),
    }
}

fn cells(row: &TaskTreeRow<'_>, listed: &SessionTasks, now: Timestamp) -> [String; 8] {
    let task = row.task;
    let indent = "  ".repeat(row.depth.min(12));
    let stalled = if task.stalled_since_at.is_some() { ", stalled" } else { "" };
    let removed = if task.forgotten { ", removed" } else { "" };
    let model = match task.kind.form() {
        TaskForm::Command | TaskForm::Reported => "",
        TaskForm::Agent | TaskForm::Question => task.model.as_ref().map_or(&listed.model, |model| &model.effective),
    };
    let cost = if task.turns == 0 && task.cost_micros == 0 {
        String::new()
    } else {
        Money::new(task.cost_micros, task.priced).to_string()
    };
    [
        format!("{indent}{}", print::sanitize(&print::one_line(row.name, MAX_NAME_COLUMNS))),
        format!("{}{stalled}{removed}", describe_state(&task.state, listed.asking.contains(&task.id))),
        print::sanitize(&task.agent),
        print::sanitize(&print::one_line(&protocol::model_display_name(model), 28)),
        task.turns.to_string(),
        task.usage.total().to_string(),
        cost,
        protocol::format_age(task.created_at, now),
    ]
}

/// Describes a task's state, and whether it waits for the user's decision.
fn describe_state(state: &TaskState, is_asking: bool) -> String {
    match (state, is_asking) {
        (TaskState::Running, true) => "needs you".into(),
        (state, true) => format!("{}, needs you", state.as_str()),
        (state, false) => state.as_str().into(),
    }
}

/// The task's reported activity or its description; for a failed task, the reason.
fn describe_activity(task: &TaskView) -> String {
    if let TaskState::Finished { outcome: TaskOutcome::Failed { message, .. } } = &task.state {
        return print::format_reason(message, 80);
    }
    let intent = task.progress.as_deref().or(task.intent.as_deref()).filter(|intent| !intent.is_empty());
    let prompt = task.prompt.as_deref().filter(|_| task.description.is_empty());
    print::sanitize(&print::one_line(intent.or(prompt).unwrap_or(&task.description), 80))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[(u128, &str, Option<u128>)]) -> Vec<(usize, String)> {
        let task = |n: u128| TaskId::new(uuid::Uuid::from_u128(n));
        let tasks: Vec<TaskView> = rows
            .iter()
            .map(|&(n, path, parent)| {
                let blank = serde_json::json!({
                    "id": task(n), "path": path, "parent": parent.map(task), "kind": "agent", "agent": "worker",
                    "name": path.rsplit('/').next(), "description": "", "depth": 0, "mode": "background",
                    "state": { "type": "idle" }, "status": "idle", "activation": 1, "attempt": 1, "turns": 0, "unread": 0,
                    "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 }, "costMicros": 0,
                    "priced": true, "changes": 0, "commands": 0, "forgotten": false,
                    "createdAt": 1, "updatedAt": 1,
                });
                serde_json::from_value(blank).unwrap()
            })
            .collect();
        tree(&tasks).iter().map(|drawn| (drawn.depth, drawn.name.to_owned())).collect()
    }

    #[test]
    fn asking_task_needs_you() {
        assert_eq!(describe_state(&TaskState::Running, true), "needs you");
        assert_eq!(describe_state(&TaskState::Interrupted, true), "interrupted, needs you");
        assert_eq!(describe_state(&TaskState::Running, false), "running");
    }

    #[test]
    fn a_task_whose_parent_was_removed_is_drawn_below_its_nearest_ancestor() {
        let rows =
            [(1, "/root", None), (2, "/root/a", Some(1)), (4, "/root/b/c", Some(3)), (6, "/root/b/c/d", Some(4))];
        let expected = [(0, "root"), (1, "a"), (1, "b/c"), (2, "d")];
        assert_eq!(shown(&rows), expected.map(|(depth, name)| (depth, name.to_owned())));
    }

    #[test]
    fn task_without_a_shown_ancestor_is_at_the_top_with_its_path() {
        let rows = [(4, "/root/b/c", Some(3)), (5, "/root/b/c/d", Some(4)), (9, "/root/other", Some(1))];
        let expected = [(0, "/root/b/c"), (1, "d"), (0, "/root/other")];
        assert_eq!(shown(&rows), expected.map(|(depth, name)| (depth, name.to_owned())));
    }
}
