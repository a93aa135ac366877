//! What a task said and left behind. It may be much, so that it is held only for a while; the log always has it.

use protocol::{Activation, Clip, ContentBlock, Envelope, Event, Evidence};

/// Most bytes of a result that is held; the log has the whole.
const RESULT_MAX: usize = 16 * 1024;

/// Most pieces of evidence of one task.
const EVIDENCE_MAX: usize = 200;

/// What a task said and left behind.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskTrace {
    /// Whether this is all of it, from the first activation on.
    is_complete: bool,
    /// What calls left behind.
    evidence: Vec<Evidence>,
    /// What activations ended with, and how much evidence there was then.
    results: Vec<(Activation, Clip, usize)>,
    /// What it said last in the activation under way.
    latest_text: Clip,
}

/// Whether an event tells of what a task said or left behind.
pub(super) fn is_relevant(event: &Event) -> bool {
    matches!(
        event,
        Event::TurnAnswered { .. }
            | Event::CallAnswered { .. }
            | Event::WorkSealed { .. }
            | Event::ActivationEnded { .. }
            | Event::TaskFinished { .. }
    )
}

impl TaskTrace {
    /// Of a task that has not begun.
    pub(super) fn from_start() -> TaskTrace {
        TaskTrace { is_complete: true, ..TaskTrace::default() }
    }

    /// As the log of a task has them.
    pub(crate) fn from_log<'a>(log: impl IntoIterator<Item = &'a Envelope>) -> TaskTrace {
        let mut words = TaskTrace::from_start();
        for envelope in log {
            words.read(&envelope.entry.event);
        }
        words
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(super) fn latest_text(&self) -> &str {
        self.latest_text.as_str()
    }

    /// What calls left behind in all activations.
    pub(crate) fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// What an activation ended with, and what calls had left behind by then.
    pub(crate) fn result_of(&self, activation: Activation) -> (&str, &[Evidence]) {
        let found = self.results.iter().rfind(|(at, ..)| *at == activation);
        // One that never began said nothing, and nothing came after it.
        let (text, count) = found.map_or(("", usize::MAX), |(_, text, count)| (text.as_str(), *count));
        (text, self.evidence.get(..count).unwrap_or(&self.evidence))
    }

    /// Takes in an event; tells whether a call left something behind that was not known.
    pub(super) fn read(&mut self, event: &Event) -> bool {
        match event {
            Event::TurnAnswered { content, .. } => self.record_text(content),
            Event::CallAnswered { evidence, .. } => return self.record_evidence(evidence),
            Event::WorkSealed { files, .. } => {
                let changed: Vec<_> = files.iter().map(|path| Evidence::Changed { path: path.clone() }).collect();
                return self.record_evidence(&changed);
            }
            Event::ActivationEnded { activation, text, .. } => {
                self.results.push((*activation, Clip::new(text, RESULT_MAX), self.evidence.len()));
                self.latest_text = Clip::default();
            }
            Event::TaskFinished { .. } => self.latest_text = Clip::default(),
            _other => {}
        }
        false
    }

    /// Forgets what earlier activations ended with.
    pub(super) fn clear_results(&mut self) {
        self.results.clear();
    }

    /// Keeps the latest words.
    fn record_text(&mut self, content: &[ContentBlock]) {
        let words = content.iter().filter_map(|block| match block {
            ContentBlock::Text { text } => Some(text.as_str()),
            ContentBlock::Call(_) | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
        });
        let said = words.collect::<Vec<_>>().join("\n\n");
        if !said.is_empty() {
            self.latest_text = Clip::new(&said, RESULT_MAX);
        }
    }

    /// Keeps what a call left behind, each thing once.
    fn record_evidence(&mut self, evidence: &[Evidence]) -> bool {
        let before = self.evidence.len();
        for piece in evidence {
            if self.evidence.len() < EVIDENCE_MAX && !self.evidence.contains(piece) {
                self.evidence.push(piece.clone());
            }
        }
        self.evidence.len() > before
    }
}
