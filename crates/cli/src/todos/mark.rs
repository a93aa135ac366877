//! How far a todo is, as people see it: what is pending can be ready, or wait for others.

use protocol::TodoStatus;
use protocol::api::TodoView;

use crate::style::Role;

/// How far a todo is, in a sign and a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
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

impl Mark {
    /// Every mark, in the order that legends and sums name them.
    pub(crate) const ALL: [Mark; 7] =
        [Mark::Done, Mark::NeedsYou, Mark::AtWork, Mark::Interrupted, Mark::Ready, Mark::Waits, Mark::Blocked];

    /// The mark of a status.
    pub(crate) fn new(status: TodoStatus, ready: bool, interrupted: bool) -> Mark {
        match status {
            TodoStatus::Done => Mark::Done,
            TodoStatus::InProgress if interrupted => Mark::Interrupted,
            TodoStatus::InProgress => Mark::AtWork,
            TodoStatus::Blocked => Mark::Blocked,
            TodoStatus::Pending if ready => Mark::Ready,
            TodoStatus::Pending => Mark::Waits,
        }
    }

    /// The mark of a todo.
    pub(crate) fn of(todo: &TodoView) -> Mark {
        Mark::new(todo.status, todo.ready, todo.interrupted)
    }

    /// The same, for work of which it is known whether it waits for a person's decision.
    pub(crate) fn asked(self, asks: bool) -> Mark {
        if asks && self == Mark::AtWork { Mark::NeedsYou } else { self }
    }

    /// One column wide.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Mark::Done => "✓",
            Mark::NeedsYou => "?",
            Mark::AtWork => "●",
            Mark::Interrupted => "◌",
            Mark::Ready => "○",
            Mark::Waits => "·",
            Mark::Blocked => "✗",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Mark::Done => "done",
            Mark::NeedsYou => "needs you",
            Mark::AtWork => "at work",
            Mark::Interrupted => "interrupted",
            Mark::Ready => "ready",
            Mark::Waits => "waits",
            Mark::Blocked => "blocked",
        }
    }

    /// The colour that repeats it.
    pub(crate) fn role(self) -> Role {
        match self {
            Mark::Done => Role::Good,
            Mark::NeedsYou => Role::Accent,
            Mark::AtWork => Role::Strong,
            Mark::Interrupted => Role::Accent,
            Mark::Ready => Role::Plain,
            Mark::Waits => Role::Dim,
            Mark::Blocked => Role::Bad,
        }
    }
}
