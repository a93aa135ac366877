//! The output of a task, which every process reads in the same way.

use host::{Home, Spool};
use protocol::api::TaskView;
use protocol::{Clip, SessionId, TaskForm, TaskId};

/// Maximum bytes of a task's output.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// A command's output so far, or an agent's latest result, clipped.
pub fn task_output(home: &Home, session: SessionId, task: &TaskView) -> String {
    match task.kind.form() {
        TaskForm::Command => command_output(home, session, task.id, MAX_OUTPUT_BYTES).into_string(),
        TaskForm::Reported => Clip::new(&reported_output(task), MAX_OUTPUT_BYTES).into_string(),
        TaskForm::Agent | TaskForm::Question => {
            Clip::new(task.result.as_deref().unwrap_or_default(), MAX_OUTPUT_BYTES).into_string()
        }
    }
}

/// What a client last reported of its task, and its result.
fn reported_output(task: &TaskView) -> String {
    let parts = task.intent.as_deref().into_iter().chain(task.result.as_deref()).filter(|part| !part.is_empty());
    parts.map(|part| format!("{part}\n")).collect()
}

/// The output of a command, clipped.
pub fn command_output(home: &Home, session: SessionId, task: TaskId, max: usize) -> Clip {
    // Without a folder, the command has never printed anything.
    Spool::read(&home.spool_dir(session, task), max).unwrap_or_default()
}
