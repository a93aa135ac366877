//! The output of a task. The owner process and all others read it in the same way.

use host::Home;
use protocol::api::TaskView;
use protocol::{Clip, SessionId, TaskForm};

use crate::background_commands;

/// Maximum bytes of a task's output.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// A command's output so far, or an agent's latest result, clipped.
pub fn task_output(home: &Home, session: SessionId, task: &TaskView) -> String {
    match task.kind.form() {
        TaskForm::Command => {
            background_commands::command_output(home, session, task.id, MAX_OUTPUT_BYTES).into_string()
        }
        TaskForm::Agent => Clip::new(task.result.as_deref().unwrap_or_default(), MAX_OUTPUT_BYTES).into_string(),
    }
}
