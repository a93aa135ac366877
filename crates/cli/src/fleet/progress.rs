//! The rows of a fleet's report: what the API says about each todo, with the words and money of every other view.

use protocol::api::{FleetStatus, FleetTodoView};
use protocol::{FleetConfig, FleetEnd, FleetStopReason, MergeSummary, SessionId, TodoId, TodoStatus};
use serde::Serialize;
use tui::money::Money;
use tui::todo_mark::TodoMark;

/// The label of a todo that is done because an earlier result is reused.
pub(super) const REUSED_LABEL: &str = "reused";

/// The progress of a fleet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetProgress {
    pub(super) session: SessionId,
    pub(super) terms: FleetConfig,
    /// How the fleet ended; `None` while it has not.
    pub(super) end: Option<FleetEnd>,
    /// Why it was stopped, unless the user stopped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<FleetStopReason>,
    /// How the work of isolated workers was merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) merged: Option<MergeSummary>,
    /// The process that runs the fleet now.
    pub(super) owner_pid: Option<u32>,
    pub(super) todos: Vec<TodoLine>,
    /// The tokens that no todo's row contains: those of the main agent and of agents that merge.
    #[serde(skip)]
    pub(super) other_tokens: u64,
}

/// A todo with the totals of all its attempts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TodoLine {
    pub(super) id: TodoId,
    pub(super) title: String,
    pub(super) status: TodoStatus,
    #[serde(skip)]
    mark: TodoMark,
    /// Whether it is done because an earlier result is reused.
    pub(super) reused: bool,
    /// Why it is done again although an earlier fleet did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    redo_reason: Option<String>,
    /// Whether its worker waits for the user's decision.
    pub(super) needs_you: bool,
    /// Whether it is in progress without a worker.
    interrupted: bool,
    pub(super) attempts: u32,
    depends_on: Vec<TodoId>,
    /// Why it is blocked, or the error of its last attempt.
    pub(super) reason: Option<String>,
    /// The task that worked on it last, and its result.
    pub(super) task: Option<String>,
    result: Option<String>,
    pub(super) duration_ms: u64,
    turns: u64,
    /// The tokens of all requests, also of those without an answer.
    pub(super) tokens: u64,
    /// In dollars; null when some of the usage has no price.
    pub(super) cost_usd: Money,
}

impl From<FleetStatus> for FleetProgress {
    fn from(status: FleetStatus) -> FleetProgress {
        let FleetStatus { session, terms, end, stop_reason, merged, owner_pid, todos, other_tokens } = status;
        let todos = todos.into_iter().map(TodoLine::from).collect();
        FleetProgress { session, terms, end, stop_reason, merged, owner_pid, todos, other_tokens }
    }
}

impl FleetProgress {
    /// The number of todos with this status.
    pub(super) fn count(&self, status: TodoStatus) -> usize {
        self.todos.iter().filter(|line| line.status == status).count()
    }

    /// Whether it finished all its todos.
    pub(super) fn is_done(&self) -> bool {
        self.end == Some(FleetEnd::Done)
    }

    /// Whether every todo reuses an earlier result.
    pub(super) fn is_all_reused(&self) -> bool {
        !self.todos.is_empty() && self.todos.iter().all(|line| line.reused)
    }
}

impl From<FleetTodoView> for TodoLine {
    fn from(view: FleetTodoView) -> TodoLine {
        let FleetTodoView {
            todo,
            reused,
            redo_reason,
            needs_you,
            result,
            duration_ms,
            turns,
            tokens,
            cost_micros,
            priced,
        } = view;
        TodoLine {
            mark: TodoMark::of(&todo).with_ask(needs_you),
            id: todo.id,
            title: todo.title,
            status: todo.status,
            reused,
            redo_reason,
            needs_you,
            interrupted: todo.interrupted,
            attempts: todo.attempts,
            depends_on: todo.depends_on,
            reason: todo.reason,
            task: todo.task,
            result,
            duration_ms,
            turns,
            tokens,
            cost_usd: Money::new(cost_micros, priced),
        }
    }
}

impl TodoLine {
    /// The state in the words of every other view.
    pub(super) fn status_label(&self) -> &'static str {
        if self.reused { REUSED_LABEL } else { self.mark.label() }
    }
}
