//! The lines of a compaction's digest that only the session knows.

use std::collections::BTreeSet;

use kernel::{Kernel, KernelTask};
use protocol::{TaskForm, TaskId};

use crate::session_context::SessionContext;

/// The most tasks, and the most todos, that a digest names.
const MAX_LISTED: usize = 40;

/// The tasks that an agent started, unfinished ones first, then the newest.
pub(super) fn task_lines(kernel: &Kernel, id: TaskId, unread: &BTreeSet<TaskId>) -> Vec<String> {
    let is_unread = |task: TaskId| unread.contains(&task);
    let children = kernel.task(id).into_iter().flat_map(|task| task.children.iter().rev());
    let tasks = children.filter_map(|id| kernel.task(*id)).filter(|task| !task.kind.is_hidden());
    let mut tasks: Vec<&KernelTask> = tasks.collect();
    tasks.sort_by_key(|task| task.is_finished() && !is_unread(task.id));
    let line = |task: &KernelTask| {
        let label = task.kind.label();
        let what = match task.kind.form() {
            TaskForm::Agent | TaskForm::Reported | TaskForm::Question => label.to_owned(),
            TaskForm::Command => format!("background {label} (see read_shell)"),
        };
        let unread = if is_unread(task.id) { "; its result comes as your next message" } else { "" };
        format!("{what} `{}`, {}: {}{unread}", task.name, task.id, task.phase.state().as_str())
    };
    tasks.into_iter().take(MAX_LISTED).map(line).collect()
}

/// The open todos, those in progress first. Returns none if the model has changed the tables so that the query fails.
pub(super) async fn todo_lines(context: &SessionContext) -> Vec<String> {
    let sql = format!(
        "SELECT substr(id, 1, 100) || ' (' || status || '): ' || substr(title, 1, 200) FROM todos WHERE status <> 'done' \
         ORDER BY status = 'in_progress' DESC, status = 'blocked', created_at, id LIMIT {MAX_LISTED}"
    );
    match context.tables.read(sql).await {
        // The first line names the column, the last line counts the rows.
        Ok(rows) => {
            let lines: Vec<&str> = rows.lines().skip(1).collect();
            let rows = lines.split_last().map_or(&[][..], |(_count, rows)| rows);
            rows.iter().map(|row| (*row).to_owned()).collect()
        }
        Err(error) => {
            tracing::info!(%error, "the digest does not list the todos");
            Vec::new()
        }
    }
}
