//! The state of a todo as shown to users: a pending todo is ready, or it waits for others.

use client::AskingTasks;
use protocol::TodoStatus;
use protocol::api::TodoView;

use crate::style::TextRole;

/// The state of a todo as a sign and a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TodoMark {
    /// It is done.
    Done,
    /// Its worker waits for the user's decision.
    NeedsYou,
    /// A worker is working on it.
    AtWork,
    /// It was in progress when the session's process ended; resuming the session continues it.
    Interrupted,
    /// It can be started now.
    Ready,
    /// It waits for its dependencies.
    Waiting,
    /// It cannot be done in the current state.
    Blocked,
}

impl TodoMark {
    /// All marks, in the order of legends and sums.
    pub const ALL: [TodoMark; 7] = [
        TodoMark::Done,
        TodoMark::NeedsYou,
        TodoMark::AtWork,
        TodoMark::Interrupted,
        TodoMark::Ready,
        TodoMark::Waiting,
        TodoMark::Blocked,
    ];

    /// The mark of a status.
    pub fn new(status: TodoStatus, ready: bool, interrupted: bool) -> TodoMark {
        match status {
            TodoStatus::Done => TodoMark::Done,
            TodoStatus::InProgress if interrupted => TodoMark::Interrupted,
            TodoStatus::InProgress => TodoMark::AtWork,
            TodoStatus::Blocked => TodoMark::Blocked,
            TodoStatus::Pending if ready => TodoMark::Ready,
            TodoStatus::Pending => TodoMark::Waiting,
        }
    }

    /// The mark of a todo.
    pub fn of(todo: &TodoView) -> TodoMark {
        TodoMark::new(todo.status, todo.ready, todo.interrupted)
    }

    /// The mark of a todo in a session in which these tasks wait for the user's decision.
    pub fn in_session(todo: &TodoView, asking: &AskingTasks) -> TodoMark {
        let task = todo.task.as_deref().and_then(|task| task.parse().ok());
        TodoMark::of(todo).with_ask(task.is_some_and(|task| asking.contains(task)))
    }

    /// Turns `AtWork` into `NeedsYou` if the worker waits for the user's decision.
    pub fn with_ask(self, asks: bool) -> TodoMark {
        if asks && self == TodoMark::AtWork { TodoMark::NeedsYou } else { self }
    }

    /// A sign, one column wide.
    pub fn sign(self) -> &'static str {
        match self {
            TodoMark::Done => "✓",
            TodoMark::NeedsYou => "?",
            TodoMark::AtWork => "●",
            TodoMark::Interrupted => "◌",
            TodoMark::Ready => "○",
            TodoMark::Waiting => "·",
            TodoMark::Blocked => "✗",
        }
    }

    /// A word.
    pub fn label(self) -> &'static str {
        match self {
            TodoMark::Done => "done",
            TodoMark::NeedsYou => "needs you",
            TodoMark::AtWork => "at work",
            TodoMark::Interrupted => "interrupted",
            TodoMark::Ready => "ready",
            TodoMark::Waiting => "waiting",
            TodoMark::Blocked => "blocked",
        }
    }

    /// The matching colour.
    pub fn role(self) -> TextRole {
        match self {
            TodoMark::Done => TextRole::Good,
            TodoMark::NeedsYou => TextRole::Accent,
            TodoMark::AtWork => TextRole::Strong,
            TodoMark::Interrupted => TextRole::Accent,
            TodoMark::Ready => TextRole::Plain,
            TodoMark::Waiting => TextRole::Dim,
            TodoMark::Blocked => TextRole::Bad,
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::TaskId;
    use testkit::todos::todo_view;

    use super::*;

    #[test]
    fn todo_needs_you_while_its_worker_asks() {
        let task = |n: u128| TaskId::new(uuid::Uuid::from_u128(n));
        let asking = AskingTasks::from_iter([task(1)]);
        let marked = |status, n| {
            let worked = TodoView { status, task: Some(task(n).to_string()), ..todo_view("a", "A", &[]) };
            TodoMark::in_session(&worked, &asking).label()
        };
        assert_eq!(marked(TodoStatus::InProgress, 1), "needs you");
        assert_eq!(marked(TodoStatus::InProgress, 2), "at work");
        assert_eq!(marked(TodoStatus::Done, 1), "done");
    }
}
