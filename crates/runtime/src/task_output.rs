//! What a task printed or said last. The owner and every other process read it in the same way.

use host::Home;
use protocol::api::TaskView;
use protocol::{Clip, SessionId, TaskType};

use crate::background_commands;

/// Most bytes of it in one piece.
const OUTPUT: usize = 64 * 1024;

/// What a command printed so far, or what an agent said when it last ended, clipped.
pub fn task_output(home: &Home, session: SessionId, task: &TaskView) -> String {
    match task.kind {
        TaskType::Shell => background_commands::command_output(home, session, task.id, OUTPUT).into_string(),
        TaskType::Main | TaskType::Agent => Clip::new(task.result.as_deref().unwrap_or_default(), OUTPUT).into_string(),
    }
}
