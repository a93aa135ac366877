//! What is known of one task.

use protocol::{At, Mode, Outcome, TaskSpec, Usage, clip_middle};

/// Most bytes of a prompt or of last words in a frame.
const TEXT: usize = 8 * 1024;

/// What is known of one task.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) spec: TaskSpec,
    pub(super) depth: usize,
    pub(super) prompt: Option<String>,
    pub(super) told: Told,
    pub(super) background: bool,
    pub(super) since: At,
    pub(super) usage: Usage,
    pub(super) tool_uses: u64,
    /// Its last words.
    pub(super) said: String,
}

/// How far the client was told of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    Started,
    Over,
}

impl Known {
    pub(super) fn new(spec: &TaskSpec, depth: usize, at: At) -> Known {
        Known {
            spec: spec.clone(),
            depth,
            prompt: None,
            told: Told::Nothing,
            background: spec.mode == Mode::Background,
            since: at,
            usage: Usage::default(),
            tool_uses: 0,
            said: String::new(),
        }
    }

    /// Whether it is at work in the background.
    pub(super) fn is_behind(&self) -> bool {
        self.background && self.told == Told::Started
    }

    /// A message woke it: nobody waits for it this time.
    pub(super) fn begin_anew(&mut self, at: At) {
        self.told = Told::Started;
        self.background = true;
        self.since = at;
    }

    /// The client knows that it is over. There may be very many such tasks, so their words are not kept.
    pub(super) fn end(&mut self) {
        self.told = Told::Over;
        self.prompt = None;
        self.said = String::new();
    }

    pub(super) fn use_up(&mut self, usage: Usage, calls: usize) {
        self.usage = self.usage.plus(usage);
        self.tool_uses = self.tool_uses.saturating_add(calls as u64);
    }
}

/// An outcome in the client's words.
pub(super) struct Ending {
    /// As the state of a task.
    pub(super) status: &'static str,
    /// As the word of a notification.
    pub(super) word: &'static str,
    /// What went wrong.
    pub(super) error: Option<String>,
}

impl Ending {
    pub(super) fn of(outcome: &Outcome) -> Ending {
        let (status, word, error) = match outcome {
            Outcome::Completed => ("completed", "completed", None),
            Outcome::Cancelled { .. } => ("killed", "stopped", None),
            Outcome::Failed { message, .. } => ("failed", "failed", Some(text(message))),
            Outcome::TimedOut { .. } | Outcome::BudgetExhausted | Outcome::Lost => {
                ("failed", "failed", Some(outcome.word().replace('_', " ")))
            }
        };
        Ending { status, word, error }
    }
}

/// A text that fits a frame.
pub(super) fn text(text: &str) -> String {
    clip_middle(text, TEXT)
}
