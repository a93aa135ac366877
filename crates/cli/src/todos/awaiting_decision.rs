//! Finds todos whose workers wait for the user's decision.

use std::collections::BTreeSet;

use client::{StoreError, StoredSession};
use protocol::TaskId;
use protocol::api::TodoView;

use super::mark::TodoMark;

/// The tasks that wait for the user's decision, and their ancestors.
#[derive(Debug, Default)]
pub(crate) struct AwaitingDecision(BTreeSet<TaskId>);

impl AwaitingDecision {
    /// Reads the tasks that wait in a session now.
    pub(crate) fn read(reader: &StoredSession) -> Result<AwaitingDecision, StoreError> {
        let mut awaiting = BTreeSet::new();
        for ask in reader.open_asks()? {
            let mut next = Some(ask.task);
            while let Some(task) = next.filter(|task| awaiting.insert(*task)) {
                next = reader.task(task)?.and_then(|view| view.parent);
            }
        }
        Ok(AwaitingDecision(awaiting))
    }

    /// Whether a task or one of its descendants waits.
    pub(crate) fn contains(&self, task: TaskId) -> bool {
        self.0.contains(&task)
    }

    /// The mark of a todo.
    pub(super) fn mark(&self, todo: &TodoView) -> TodoMark {
        let task = todo.task.as_deref().and_then(|task| task.parse().ok());
        TodoMark::of(todo).with_ask(task.is_some_and(|task| self.contains(task)))
    }
}

#[cfg(test)]
mod tests {
    use protocol::TodoStatus;

    use super::super::graph::tests::todo;
    use super::*;

    #[test]
    fn todo_needs_you_while_its_worker_asks() {
        let task = |n: u128| TaskId::new(uuid::Uuid::from_u128(n));
        let asking = AwaitingDecision(BTreeSet::from([task(1)]));
        let marked = |status, n| {
            let worked = TodoView { status, task: Some(task(n).to_string()), ..todo("a", "A", &[]) };
            asking.mark(&worked).label()
        };
        assert_eq!(marked(TodoStatus::InProgress, 1), "needs you");
        assert_eq!(marked(TodoStatus::InProgress, 2), "at work");
        assert_eq!(marked(TodoStatus::Done, 1), "done");
    }
}
