//! The deltas of an answer, in the same form for every wire format.

use std::collections::VecDeque;

use protocol::{CallId, StopReason, ToolCallRequest, Usage};
use serde_json::Value;

use super::verbatim;
use crate::{Delta, ModelReply};

/// Why a stream of events is not an answer.
#[derive(Debug)]
pub(super) enum StreamError {
    /// An event is malformed.
    Malformed(String),
    /// The provider reports an error.
    Reported(Value),
    /// It exceeds the limit.
    TooLarge,
    /// It ended before the answer did.
    Cut,
}

/// The deltas of an answer, and the data for its end.
#[derive(Debug, Default)]
pub(super) struct DeltaQueue {
    ready: VecDeque<Delta>,
    /// The last call, whose arguments may be incomplete.
    incomplete_call: Option<ToolCallRequest>,
    has_called: bool,
    is_done: bool,
    buffered_bytes: usize,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
}

impl DeltaQueue {
    /// The next delta, in order.
    pub(super) fn take(&mut self) -> Option<Delta> {
        self.ready.pop_front()
    }

    /// Whether the answer is complete.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Counts bytes that a stream buffers until they are complete.
    pub(super) fn count_buffered(&mut self, bytes: usize) -> Result<(), StreamError> {
        self.buffered_bytes = self.buffered_bytes.saturating_add(bytes);
        if self.buffered_bytes > ModelReply::MAX_BYTES { Err(StreamError::TooLarge) } else { Ok(()) }
    }

    /// Adds text for the reader.
    pub(super) fn push_text(&mut self, text: String) {
        if !text.is_empty() {
            self.push(Delta::Text(text));
        }
    }

    /// Adds reasoning.
    pub(super) fn push_thinking(&mut self, text: String) {
        if !text.is_empty() {
            self.push(Delta::Thinking(text));
        }
    }

    /// Adds data that must be sent back unchanged.
    pub(super) fn push_opaque(&mut self, wire: &str, json: String) {
        self.push(Delta::Opaque { provider: wire.into(), json });
    }

    /// Adds a call whose arguments have ended.
    pub(super) fn push_call(&mut self, id: String, tool: String, input: String) {
        self.flush_call();
        let is_whole = verbatim::is_object(&input);
        let call = ToolCallRequest { id: CallId(id), tool, input };
        if is_whole {
            self.push(Delta::Call(call));
        } else {
            self.incomplete_call = Some(call);
        }
    }

    /// Ends the answer. `requested` is the requested model, in case the provider did not name it.
    ///
    /// At the length limit a call with incomplete arguments is dropped, since it must not run.
    pub(super) fn finish(&mut self, stop: StopReason, requested: &str) {
        match stop {
            StopReason::Length => self.incomplete_call = None,
            StopReason::End | StopReason::Calls | StopReason::Refusal => self.flush_call(),
        }
        let stop = match (stop, self.has_called) {
            (StopReason::End | StopReason::Calls, true) => StopReason::Calls,
            (StopReason::End | StopReason::Calls, false) => StopReason::End,
            (StopReason::Length | StopReason::Refusal, _) => stop,
        };
        if self.usage.is_none() {
            tracing::warn!(model = requested, "the provider did not report the tokens of the answer");
        }
        let model = self.model.take().filter(|model| !model.is_empty()).unwrap_or_else(|| requested.to_owned());
        self.push(Delta::Done { stop, usage: self.usage.unwrap_or_default(), model });
        self.is_done = true;
    }

    fn push(&mut self, delta: Delta) {
        self.flush_call();
        self.has_called |= matches!(delta, Delta::Call(_));
        self.ready.push_back(delta);
    }

    /// Queues the last call: the next delta shows that it had ended, even if its arguments are invalid. Missing arguments
    /// become an empty object.
    fn flush_call(&mut self) {
        let Some(mut call) = self.incomplete_call.take() else { return };
        if call.input.trim().is_empty() {
            call.input = "{}".into();
        }
        self.push(Delta::Call(call));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(fill: impl FnOnce(&mut DeltaQueue)) -> Vec<Delta> {
        let mut queue = DeltaQueue::default();
        fill(&mut queue);
        std::iter::from_fn(|| queue.take()).collect()
    }

    fn input(delta: &Delta) -> Option<&str> {
        if let Delta::Call(call) = delta { Some(&call.input) } else { None }
    }

    fn inputs(deltas: &[Delta]) -> Vec<&str> {
        deltas.iter().filter_map(input).collect()
    }

    fn call(queue: &mut DeltaQueue, input: &str) {
        queue.push_call("1".into(), "t".into(), input.into());
    }

    #[test]
    fn at_the_length_limit_only_whole_calls_remain() {
        for last in ["", "{\"a\":", "{\"a\":1", "12"] {
            let deltas = collect(|queue| {
                call(queue, "");
                call(queue, "{}");
                call(queue, last);
                queue.finish(StopReason::Length, "m");
            });
            assert_eq!(inputs(&deltas), ["{}", "{}"], "{last}");
            assert!(matches!(deltas.last(), Some(Delta::Done { stop: StopReason::Length, .. })));
        }
    }

    #[test]
    fn invalid_call_input_is_kept_and_empty_input_becomes_an_object() {
        let deltas = collect(|queue| {
            call(queue, "{oops");
            call(queue, " ");
            queue.finish(StopReason::End, "m");
        });
        assert_eq!(inputs(&deltas), ["{oops", "{}"]);
        assert!(matches!(&deltas[2], Delta::Done { stop: StopReason::Calls, model, .. } if model == "m"));
    }

    #[test]
    fn a_stop_for_calls_without_any_is_an_end() {
        let deltas = collect(|queue| queue.finish(StopReason::Calls, "m"));
        assert!(matches!(deltas[..], [Delta::Done { stop: StopReason::End, .. }]));
    }
}
