//! Todos that were done and then blocked because their work could not be merged: the work is not done again.

use std::collections::BTreeSet;

use protocol::{Event, Principal, TaskId, TodoId};
use store::{SessionReader, StoreError};

/// How many events are read at a time.
const PAGE_EVENTS: usize = 512;

/// The todos that have been done since they were last changed or tried, whether or not their work was merged.
#[derive(Debug, Default)]
pub(crate) struct FinishedTodos(BTreeSet<TodoId>);

impl FinishedTodos {
    /// Reads them from the log.
    pub(crate) fn read(reader: &SessionReader, root: TaskId) -> Result<FinishedTodos, StoreError> {
        let (mut finished, mut seq) = (FinishedTodos::default(), 0);
        loop {
            let page = reader.events_after(seq, PAGE_EVENTS)?;
            let Some(last) = page.last() else { return Ok(finished) };
            seq = last.seq;
            page.iter().for_each(|envelope| finished.apply_event(&envelope.entry.event, root));
        }
    }

    /// Whether a todo has been done.
    pub(crate) fn contains(&self, todo: &TodoId) -> bool {
        self.0.contains(todo)
    }

    fn apply_event(&mut self, event: &Event, root: TaskId) {
        match event {
            Event::TodoDone { todo, .. } => {
                self.0.insert(todo.clone());
            }
            Event::TodoClaimed { todo, .. } | Event::TodoUnblocked { todo } => {
                self.0.remove(todo);
            }
            Event::TodosChanged { by, changed, gone, .. } => {
                let is_new = |todo: &TodoId| is_planner(*by, root) && changed.iter().any(|new| new.id == *todo);
                self.0.retain(|todo| !gone.contains(todo) && !is_new(todo));
            }
            _other => {}
        }
    }
}

/// Whether the author of a change writes the plan.
fn is_planner(by: Principal, root: TaskId) -> bool {
    match by {
        Principal::User => true,
        Principal::Task { id } => id == root,
        Principal::Runtime => false,
    }
}

#[cfg(test)]
mod tests {
    use protocol::Todo;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_todo_stays_done_until_the_planner_changes_it_or_it_is_tried_again() {
        let (root, worker) = (TaskId::new(Uuid::from_u128(1)), TaskId::new(Uuid::from_u128(2)));
        let changed = |by| Event::TodosChanged { by, changed: vec![Todo::new("a", "A")], gone: Vec::new(), upto: 0 };
        let done = Event::TodoDone { todo: "a".into(), fence: Some(1), reused: None };
        for (event, is_done) in [
            (changed(Principal::Task { id: worker }), true),
            (changed(Principal::Task { id: root }), false),
            (changed(Principal::User), false),
            (Event::TodoUnblocked { todo: "a".into() }, false),
            (Event::TodoClaimed { todo: "a".into(), fence: 2, redo_reason: None }, false),
            (Event::TodoClaimed { todo: "b".into(), fence: 2, redo_reason: None }, true),
        ] {
            let mut finished = FinishedTodos::default();
            finished.apply_event(&done, root);
            finished.apply_event(&event, root);
            assert_eq!(finished.contains(&"a".into()), is_done, "{event:?}");
        }
    }
}
