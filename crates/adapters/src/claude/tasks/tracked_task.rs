//! The state of one task below the root.

use protocol::{TaskMode, TaskOutcome, TaskSpec, Timestamp, Usage, clip_middle};

/// Maximum bytes of a prompt or final message in a frame.
const MAX_TEXT_BYTES: usize = 8 * 1024;

/// A task below the root: what was reported of it, and what the next frames need.
#[derive(Debug)]
pub(super) struct TrackedTask {
    pub(super) spec: TaskSpec,
    pub(super) depth: usize,
    pub(super) prompt: Option<String>,
    pub(super) reported: ReportedState,
    /// Whether the root does not wait for it.
    pub(super) background: bool,
    /// When it was created or last woken.
    pub(super) started_at: Timestamp,
    pub(super) usage: Usage,
    pub(super) tool_uses: u64,
    /// Its final message.
    pub(super) last_text: String,
}

/// What has been reported to the client about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportedState {
    Unreported,
    Started,
    Ended,
}

impl TrackedTask {
    pub(super) fn new(spec: &TaskSpec, depth: usize, at: Timestamp) -> TrackedTask {
        TrackedTask {
            spec: spec.clone(),
            depth,
            prompt: None,
            reported: ReportedState::Unreported,
            background: spec.mode == TaskMode::Background,
            started_at: at,
            usage: Usage::default(),
            tool_uses: 0,
            last_text: String::new(),
        }
    }

    /// Whether it runs in the background.
    pub(super) fn is_in_background(&self) -> bool {
        self.background && self.reported == ReportedState::Started
    }

    /// Restarts the task after a message woke it. The root does not wait for it this time.
    pub(super) fn restart(&mut self, at: Timestamp) {
        self.reported = ReportedState::Started;
        self.background = true;
        self.started_at = at;
    }

    /// Records that the end was reported. Texts are dropped, because there may be very many such tasks.
    pub(super) fn mark_ended(&mut self) {
        self.reported = ReportedState::Ended;
        self.prompt = None;
        self.last_text = String::new();
    }

    pub(super) fn add_usage(&mut self, usage: Usage, calls: usize) {
        self.usage = self.usage.plus(usage);
        self.tool_uses = self.tool_uses.saturating_add(calls as u64);
    }
}

/// An outcome in the Claude SDK's terms.
pub(super) struct TaskEndStatus {
    /// The status in `task_updated`.
    pub(super) status: &'static str,
    /// The status in `task_notification`.
    pub(super) notification_status: &'static str,
    /// The error message.
    pub(super) error: Option<String>,
}

impl TaskEndStatus {
    pub(super) fn from_outcome(outcome: &TaskOutcome) -> TaskEndStatus {
        let (status, notification_status, error) = match outcome {
            TaskOutcome::Completed => ("completed", "completed", None),
            TaskOutcome::Cancelled { .. } => ("killed", "stopped", None),
            TaskOutcome::Failed { message, .. } => ("failed", "failed", Some(clip_text(message))),
            TaskOutcome::TimedOut { .. } | TaskOutcome::BudgetExhausted | TaskOutcome::Lost => {
                ("failed", "failed", Some(outcome.as_str().replace('_', " ")))
            }
        };
        TaskEndStatus { status, notification_status, error }
    }
}

/// Clips a text so that it fits a frame.
pub(super) fn clip_text(text: &str) -> String {
    clip_middle(text, MAX_TEXT_BYTES)
}
