//! Separates the parts of an answer that can be passed on from those that wait for its end.

use protocol::{CallId, StopReason, ToolCallRequest};

use super::call::ParsedCall;
use crate::Delta;

/// The answer so far. From the first call on, everything waits.
#[derive(Debug, Default)]
pub(super) struct DeltaBuffer {
    ready: Vec<Delta>,
    waiting: Vec<BufferedDelta>,
    /// Waiting bytes.
    waiting_bytes: usize,
}

#[derive(Debug)]
enum BufferedDelta {
    /// A delta as received.
    Delta(Delta),
    /// Calls, and their original text.
    Calls { text: String, calls: Vec<ParsedCall> },
}

impl DeltaBuffer {
    /// Adds a character.
    pub(super) fn push(&mut self, c: char) {
        self.push_text(c.encode_utf8(&mut [0; 4]));
    }

    /// Adds text.
    pub(super) fn push_text(&mut self, more: &str) {
        if more.is_empty() {
            return;
        }
        if self.waiting.is_empty() {
            return append(&mut self.ready, more);
        }
        self.waiting_bytes += more.len();
        match self.waiting.last_mut() {
            Some(BufferedDelta::Delta(Delta::Text(text))) => text.push_str(more),
            _other => self.waiting.push(BufferedDelta::Delta(Delta::Text(more.into()))),
        }
    }

    /// Adds thinking.
    pub(super) fn push_thinking(&mut self, more: &str) {
        match self.ready.last_mut() {
            Some(Delta::Thinking(text)) => text.push_str(more),
            _other if more.is_empty() => {}
            _other => self.push_delta(Delta::Thinking(more.into())),
        }
    }

    /// Adds a delta as received.
    pub(super) fn push_delta(&mut self, delta: Delta) {
        if self.waiting.is_empty() {
            self.ready.push(delta);
        } else {
            self.waiting_bytes += delta.counted_bytes();
            self.waiting.push(BufferedDelta::Delta(delta));
        }
    }

    /// Adds calls.
    pub(super) fn push_calls(&mut self, text: String, calls: Vec<ParsedCall>) {
        self.waiting_bytes += text.len();
        self.waiting.push(BufferedDelta::Calls { text, calls });
    }

    /// Adds an end mark without a start; returns whether it directly follows calls.
    pub(super) fn append_stray_mark(&mut self, mark: &str) -> bool {
        let Some(BufferedDelta::Calls { text, .. }) = self.waiting.last_mut() else { return false };
        self.waiting_bytes += mark.len();
        text.push_str(mark);
        true
    }

    /// Whether there are calls.
    pub(super) fn has_calls(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The number of waiting bytes.
    pub(super) fn waiting(&self) -> usize {
        self.waiting_bytes
    }

    /// Takes the deltas that can be passed on.
    pub(super) fn take_ready(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.ready)
    }

    /// Releases everything that waits, calls as their original text.
    pub(super) fn release_as_text(&mut self) {
        for part in std::mem::take(&mut self.waiting) {
            match part {
                BufferedDelta::Delta(Delta::Text(text)) | BufferedDelta::Calls { text, .. } => {
                    append(&mut self.ready, &text)
                }
                BufferedDelta::Delta(delta) => self.ready.push(delta),
            }
        }
        self.waiting_bytes = 0;
    }

    /// Ends the answer; returns the stop reason, given its calls. They do not count when the answer was truncated or is
    /// a refusal: it is not reliable then.
    pub(super) fn finish(&mut self, stop: StopReason, turn: u32) -> StopReason {
        match stop {
            StopReason::End | StopReason::Calls if self.release_calls(turn) => StopReason::Calls,
            StopReason::End | StopReason::Calls | StopReason::Length | StopReason::Refusal => {
                self.release_as_text();
                stop
            }
        }
    }

    /// Releases everything that waits, calls as calls; returns whether there are any. White space beside them is
    /// dropped.
    fn release_calls(&mut self, turn: u32) -> bool {
        let mut count = 0;
        for part in std::mem::take(&mut self.waiting) {
            match part {
                BufferedDelta::Delta(Delta::Text(text)) => append(&mut self.ready, text.trim()),
                BufferedDelta::Delta(delta) => self.ready.push(delta),
                BufferedDelta::Calls { calls, .. } => {
                    for ParsedCall { tool, input } in calls {
                        count += 1;
                        let id = CallId(format!("text-{turn}-{count}"));
                        self.ready.push(Delta::Call(ToolCallRequest { id, tool, input }));
                    }
                }
            }
        }
        self.waiting_bytes = 0;
        count > 0
    }
}

/// Appends text; adjacent texts become one delta.
fn append(deltas: &mut Vec<Delta>, more: &str) {
    match deltas.last_mut() {
        Some(Delta::Text(text)) => text.push_str(more),
        _other if more.is_empty() => {}
        _other => deltas.push(Delta::Text(more.into())),
    }
}
