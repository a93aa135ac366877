//! Which tasks ordinary views leave out, for views that are folded from events.

use std::collections::HashSet;

use crate::{Event, TaskId};

/// The hidden tasks of a session so far.
#[derive(Debug, Clone, Default)]
pub struct HiddenTasks(HashSet<TaskId>);

impl HiddenTasks {
    /// Whether an event belongs to a hidden task. Needs every event that creates a task.
    pub fn hides(&mut self, task: TaskId, event: &Event) -> bool {
        if let Event::TaskCreated(spec) = event
            && spec.kind.is_hidden()
        {
            self.0.insert(task);
        }
        self.0.contains(&task)
    }
}
