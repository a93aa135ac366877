//! How far a todo is, as people see it: what is pending can be ready, or wait for others.

use protocol::TodoStatus;
use protocol::api::TodoView;

use crate::style::TextRole;

/// How far a todo is, in a sign and a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TodoMark {
    /// It is done.
    Done,
    /// Whoever works on it waits for a person's decision.
    NeedsYou,
    /// Somebody works on it.
    AtWork,
    /// Somebody worked on it when the session's process ended; it goes on when the session is resumed.
    Interrupted,
    /// It can be worked on now.
    Ready,
    /// It waits for others.
    Waits,
    /// It cannot be done as things are.
    Blocked,
}

impl TodoMark {
    /// Every mark, in the order that legends and sums name them.
    pub(crate) const ALL: [TodoMark; 7] = [
        TodoMark::Done,
        TodoMark::NeedsYou,
        TodoMark::AtWork,
        TodoMark::Interrupted,
        TodoMark::Ready,
        TodoMark::Waits,
        TodoMark::Blocked,
    ];

    /// The mark of a status.
    pub(crate) fn new(status: TodoStatus, ready: bool, interrupted: bool) -> TodoMark {
        match status {
            TodoStatus::Done => TodoMark::Done,
            TodoStatus::InProgress if interrupted => TodoMark::Interrupted,
            TodoStatus::InProgress => TodoMark::AtWork,
            TodoStatus::Blocked => TodoMark::Blocked,
            TodoStatus::Pending if ready => TodoMark::Ready,
            TodoStatus::Pending => TodoMark::Waits,
        }
    }

    /// The mark of a todo.
    pub(crate) fn of(todo: &TodoView) -> TodoMark {
        TodoMark::new(todo.status, todo.ready, todo.interrupted)
    }

    /// The same, for work of which it is known whether it waits for a person's decision.
    pub(crate) fn with_ask(self, asks: bool) -> TodoMark {
        if asks && self == TodoMark::AtWork { TodoMark::NeedsYou } else { self }
    }

    /// One column wide.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            TodoMark::Done => "✓",
            TodoMark::NeedsYou => "?",
            TodoMark::AtWork => "●",
            TodoMark::Interrupted => "◌",
            TodoMark::Ready => "○",
            TodoMark::Waits => "·",
            TodoMark::Blocked => "✗",
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            TodoMark::Done => "done",
            TodoMark::NeedsYou => "needs you",
            TodoMark::AtWork => "at work",
            TodoMark::Interrupted => "interrupted",
            TodoMark::Ready => "ready",
            TodoMark::Waits => "waits",
            TodoMark::Blocked => "blocked",
        }
    }

    /// The colour that repeats it.
    pub(crate) fn role(self) -> TextRole {
        match self {
            TodoMark::Done => TextRole::Good,
            TodoMark::NeedsYou => TextRole::Accent,
            TodoMark::AtWork => TextRole::Strong,
            TodoMark::Interrupted => TextRole::Accent,
            TodoMark::Ready => TextRole::Plain,
            TodoMark::Waits => TextRole::Dim,
            TodoMark::Blocked => TextRole::Bad,
        }
    }
}
