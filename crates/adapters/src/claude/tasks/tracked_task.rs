//! What is known of one task.

use protocol::{TaskMode, TaskOutcome, TaskSpec, Timestamp, Usage, clip_middle};

/// Most bytes of a prompt or of last words in a frame.
const TEXT: usize = 8 * 1024;

/// What is known of one task.
#[derive(Debug)]
pub(super) struct TrackedTask {
    pub(super) spec: TaskSpec,
    pub(super) depth: usize,
    pub(super) prompt: Option<String>,
    pub(super) reported: ReportedState,
    pub(super) background: bool,
    pub(super) since: Timestamp,
    pub(super) usage: Usage,
    pub(super) tool_uses: u64,
    /// Its last words.
    pub(super) last_text: String,
}

/// How far the client was told of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportedState {
    Unreported,
    Started,
    Over,
}

impl TrackedTask {
    pub(super) fn new(spec: &TaskSpec, depth: usize, at: Timestamp) -> TrackedTask {
        TrackedTask {
            spec: spec.clone(),
            depth,
            prompt: None,
            reported: ReportedState::Unreported,
            background: spec.mode == TaskMode::Background,
            since: at,
            usage: Usage::default(),
            tool_uses: 0,
            last_text: String::new(),
        }
    }

    /// Whether it is at work in the background.
    pub(super) fn is_in_background(&self) -> bool {
        self.background && self.reported == ReportedState::Started
    }

    /// A message woke it: nobody waits for it this time.
    pub(super) fn restart(&mut self, at: Timestamp) {
        self.reported = ReportedState::Started;
        self.background = true;
        self.since = at;
    }

    /// The client knows that it is over. There may be very many such tasks, so their words are not kept.
    pub(super) fn end(&mut self) {
        self.reported = ReportedState::Over;
        self.prompt = None;
        self.last_text = String::new();
    }

    pub(super) fn add_usage(&mut self, usage: Usage, calls: usize) {
        self.usage = self.usage.plus(usage);
        self.tool_uses = self.tool_uses.saturating_add(calls as u64);
    }
}

/// An outcome in the client's words.
pub(super) struct TaskEndStatus {
    /// As the state of a task.
    pub(super) status: &'static str,
    /// As the word of a notification.
    pub(super) word: &'static str,
    /// What went wrong.
    pub(super) error: Option<String>,
}

impl TaskEndStatus {
    pub(super) fn of(outcome: &TaskOutcome) -> TaskEndStatus {
        let (status, word, error) = match outcome {
            TaskOutcome::Completed => ("completed", "completed", None),
            TaskOutcome::Cancelled { .. } => ("killed", "stopped", None),
            TaskOutcome::Failed { message, .. } => ("failed", "failed", Some(clip_text(message))),
            TaskOutcome::TimedOut { .. } | TaskOutcome::BudgetExhausted | TaskOutcome::Lost => {
                ("failed", "failed", Some(outcome.as_str().replace('_', " ")))
            }
        };
        TaskEndStatus { status, word, error }
    }
}

/// A text that fits a frame.
pub(super) fn clip_text(text: &str) -> String {
    clip_middle(text, TEXT)
}
