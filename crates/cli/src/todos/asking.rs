//! Which todos wait for a person: whoever works on them has asked something.

use std::collections::BTreeSet;

use protocol::TaskId;
use protocol::api::TodoView;
use store::{Reader, StoreError};

use super::mark::Mark;

/// The tasks that wait for a person's decision, and those above them.
#[derive(Debug, Default)]
pub(crate) struct Asking(BTreeSet<TaskId>);

impl Asking {
    /// What waits in a session now.
    pub(crate) fn read(reader: &Reader) -> Result<Asking, StoreError> {
        let mut asking = BTreeSet::new();
        for ask in reader.asks(false)? {
            let mut next = Some(ask.task);
            while let Some(task) = next.filter(|task| asking.insert(*task)) {
                next = reader.task(task)?.and_then(|view| view.parent);
            }
        }
        Ok(Asking(asking))
    }

    /// Whether a task, or one below it, waits.
    pub(crate) fn has(&self, task: TaskId) -> bool {
        self.0.contains(&task)
    }

    /// The mark of a todo.
    pub(super) fn mark(&self, todo: &TodoView) -> Mark {
        let task = todo.task.as_deref().and_then(|task| task.parse().ok());
        Mark::of(todo).asked(task.is_some_and(|task| self.has(task)))
    }
}

#[cfg(test)]
mod tests {
    use protocol::TodoStatus;

    use super::super::graph::tests::todo;
    use super::*;

    /// B5: an asking worker counted as one at work.
    #[test]
    fn a_todo_whose_worker_asks_needs_you_and_one_that_is_done_does_not() {
        let task = |n: u128| TaskId::new(uuid::Uuid::from_u128(n));
        let asking = Asking(BTreeSet::from([task(1)]));
        let marked = |status, n| {
            let worked = TodoView { status, task: Some(task(n).to_string()), ..todo("a", "A", &[]) };
            asking.mark(&worked).word()
        };
        assert_eq!(marked(TodoStatus::InProgress, 1), "needs you");
        assert_eq!(marked(TodoStatus::InProgress, 2), "at work");
        assert_eq!(marked(TodoStatus::Done, 1), "done");
    }
}
