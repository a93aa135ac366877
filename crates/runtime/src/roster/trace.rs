//! The trace of a task: its text and evidence. It may be large, so it is held only for a while; the log always has it.

use protocol::{Activation, Clip, ContentBlock, Envelope, Event, Evidence};

/// Maximum bytes of a held result; the log has all of it.
const MAX_RESULT_BYTES: usize = 16 * 1024;

/// Maximum pieces of evidence per task.
const MAX_EVIDENCE_PIECES: usize = 200;

/// The text and evidence of a task.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskTrace {
    /// Whether it covers all activations from the first one on.
    is_complete: bool,
    /// The evidence of its calls.
    evidence: Vec<Evidence>,
    /// The results of activations, each with the amount of evidence at that time.
    results: Vec<(Activation, Clip, usize)>,
    /// The latest text in the current activation.
    latest_text: Clip,
}

/// Whether an event changes a task's trace.
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
    /// The trace of a task that has not started.
    pub(super) fn from_start() -> TaskTrace {
        TaskTrace { is_complete: true, ..TaskTrace::default() }
    }

    /// Builds the trace from a task's log.
    pub(crate) fn from_log<'a>(log: impl IntoIterator<Item = &'a Envelope>) -> TaskTrace {
        let mut trace = TaskTrace::from_start();
        for envelope in log {
            trace.apply_event(&envelope.entry.event);
        }
        trace
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(super) fn latest_text(&self) -> &str {
        self.latest_text.as_str()
    }

    /// The evidence of all activations.
    pub(crate) fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// The result of an activation, and the evidence up to then.
    pub(crate) fn result_of(&self, activation: Activation) -> (&str, &[Evidence]) {
        let result = self.results.iter().rfind(|(ended, ..)| *ended == activation);
        // An activation that never started has no text, and nothing follows it.
        let (text, count) = result.map_or(("", usize::MAX), |(_, text, count)| (text.as_str(), *count));
        (text, self.evidence.get(..count).unwrap_or(&self.evidence))
    }

    /// Applies an event; returns whether a call added new evidence.
    pub(super) fn apply_event(&mut self, event: &Event) -> bool {
        match event {
            Event::TurnAnswered { content, .. } => self.record_text(content),
            Event::CallAnswered { evidence, .. } => return self.record_evidence(evidence),
            Event::WorkSealed { files, .. } => {
                let changed: Vec<_> = files.iter().map(|path| Evidence::Changed { path: path.clone() }).collect();
                return self.record_evidence(&changed);
            }
            Event::ActivationEnded { activation, text, .. } => {
                self.results.push((*activation, Clip::new(text, MAX_RESULT_BYTES), self.evidence.len()));
                self.latest_text = Clip::default();
            }
            Event::TaskFinished { .. } => self.latest_text = Clip::default(),
            _other => {}
        }
        false
    }

    /// Forgets the results of earlier activations.
    pub(super) fn clear_results(&mut self) {
        self.results.clear();
    }

    /// Keeps the latest text.
    fn record_text(&mut self, content: &[ContentBlock]) {
        let texts = content.iter().filter_map(|block| match block {
            ContentBlock::Text { text } => Some(text.as_str()),
            ContentBlock::Call(_) | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n\n");
        if !text.is_empty() {
            self.latest_text = Clip::new(&text, MAX_RESULT_BYTES);
        }
    }

    /// Adds the evidence of a call, without duplicates; returns whether any is new.
    fn record_evidence(&mut self, evidence: &[Evidence]) -> bool {
        let before = self.evidence.len();
        for piece in evidence {
            if self.evidence.len() < MAX_EVIDENCE_PIECES && !self.evidence.contains(piece) {
                self.evidence.push(piece.clone());
            }
        }
        self.evidence.len() > before
    }
}
