//! Counts how often a model repeats itself. The count is based on a task's events, not on its conversation, which loses
//! content in a compaction; so a new owner process gets the same count.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use protocol::{CallId, ContentBlock, ToolCallRequest, ToolResult, ToolResultStatus};
use serde_json::Value;

/// The reply to a repeated call.
const REPEATED: &str = include_str!("prompts/repeated_call.md");

/// How many different calls are remembered with their answers.
const MAX_REMEMBERED_ANSWERS: usize = 256;

/// How many turns in a row may bring nothing new.
pub(crate) const MAX_STALE_TURNS: u32 = 8;

/// The tool result of a call that is not run because it only repeats others.
pub(crate) fn refusal() -> ToolResult {
    ToolResult { status: ToolResultStatus::Refused, text: REPEATED.trim_end().into() }
}

/// Counts how often a model repeats itself. Any message to the model resets the count.
#[derive(Debug, Default)]
pub(crate) struct RepeatTracker {
    /// The calls of the latest answer, as the model wrote them.
    latest_calls: Vec<(CallId, u64)>,
    current: Option<RepeatedCall>,
    /// Calls with their answers, oldest first.
    seen_answers: VecDeque<u64>,
    /// How many turns in a row brought nothing new.
    stale: u32,
}

/// A call made repeatedly with no other call in between.
#[derive(Debug)]
struct RepeatedCall {
    call: u64,
    /// Its answer, unless it was a refusal from this module.
    answer: Option<u64>,
    repeat_count: usize,
}

impl RepeatTracker {
    /// Records the calls of the model's answer.
    pub(crate) fn record_calls(&mut self, content: &[ContentBlock]) {
        let call = |block: &ContentBlock| match block {
            ContentBlock::Call(call) => Some((call.id.clone(), call_hash(call))),
            ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
        };
        self.latest_calls = content.iter().filter_map(call).collect();
    }

    /// Records the answers to all calls of the turn.
    pub(crate) fn record_answers(&mut self, answers: &[(CallId, ToolResult)]) {
        let refusal = refusal();
        let mut fresh = answers.is_empty();
        for (id, call) in std::mem::take(&mut self.latest_calls) {
            let Some((_, answer)) = answers.iter().find(|(answered, _)| *answered == id) else { continue };
            let answer_hash = (*answer != refusal).then(|| hash_of((answer.status.as_str(), &answer.text)));
            self.count_call(call, answer_hash);
            // A refusal means that the call was seen before.
            if let Some(pair) = answer_hash
                .map(|answer_hash| hash_of((call, answer_hash)))
                .filter(|pair| !self.seen_answers.contains(pair))
            {
                fresh = true;
                self.seen_answers.push_back(pair);
            }
        }
        let excess = self.seen_answers.len().saturating_sub(MAX_REMEMBERED_ANSWERS);
        self.seen_answers.drain(..excess);
        self.stale = if fresh { 0 } else { self.stale + 1 };
    }

    /// Starts over: the model has received a message.
    pub(crate) fn reset(&mut self) {
        (self.current, self.stale) = (None, 0);
        self.seen_answers.clear();
    }

    /// How often in a row this call was made before the latest answer, always with the same result.
    pub(crate) fn times(&self, id: &CallId) -> usize {
        let Some(index) = self.latest_calls.iter().position(|(made, _)| made == id) else { return 0 };
        let call = self.latest_calls[index].1;
        let has_no_other_before = self.latest_calls[..index].iter().all(|(_, other)| *other == call);
        self.current
            .as_ref()
            .filter(|repeated| has_no_other_before && repeated.call == call)
            .map_or(0, |repeated| repeated.repeat_count)
    }

    /// How many turns in a row brought nothing new.
    pub(crate) fn stale(&self) -> u32 {
        self.stale
    }

    fn count_call(&mut self, call: u64, answer: Option<u64>) {
        match &mut self.current {
            Some(repeated)
                if repeated.call == call
                    && (answer.is_none() || repeated.answer.is_none() || repeated.answer == answer) =>
            {
                repeated.answer = repeated.answer.or(answer);
                repeated.repeat_count += 1;
            }
            repeated => *repeated = Some(RepeatedCall { call, answer, repeat_count: 1 }),
        }
    }
}

/// A hash that is equal for equivalent calls, regardless of formatting.
fn call_hash(call: &ToolCallRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.tool.hash(&mut hasher);
    match serde_json::from_str(&call.input) {
        Ok(value) => add_to_hash(&value, &mut hasher),
        Err(_unreadable) => call.input.hash(&mut hasher),
    }
    hasher.finish()
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Adds a value to the hash, independent of the order of its fields.
fn add_to_hash(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            fields.len().hash(hasher);
            for (name, value) in fields {
                name.hash(hasher);
                add_to_hash(value, hasher);
            }
        }
        Value::Array(values) => {
            values.len().hash(hasher);
            values.iter().for_each(|value| add_to_hash(value, hasher));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string().hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, tool: &str, input: &str) -> ToolCallRequest {
        ToolCallRequest { id: CallId(id.into()), tool: tool.into(), input: input.into() }
    }

    fn answer_with(calls: &[ToolCallRequest]) -> Vec<ContentBlock> {
        let text = ContentBlock::Text { text: "Again.".into() };
        [text].into_iter().chain(calls.iter().cloned().map(ContentBlock::Call)).collect()
    }

    fn done(text: &str) -> ToolResult {
        ToolResult { status: ToolResultStatus::Done, text: text.into() }
    }

    fn turn(repeats: &mut RepeatTracker, input: &str, answer: ToolResult) {
        repeats.record_calls(&answer_with(&[call("a", "view", input)]));
        repeats.record_answers(&[(CallId("a".into()), answer)]);
    }

    /// How often the last call was repeated, after single calls with these answers.
    fn repeats_after(past: &[(&str, ToolResult)], last: &str) -> usize {
        let mut repeats = RepeatTracker::default();
        past.iter().for_each(|(input, answer)| turn(&mut repeats, input, answer.clone()));
        repeats.record_calls(&answer_with(&[call("b", "view", last)]));
        repeats.times(&CallId("b".into()))
    }

    #[test]
    fn the_same_call_with_the_same_answer_counts() {
        let (one, other) = (done("1"), done("2"));
        assert_eq!(repeats_after(&[], "{}"), 0);
        assert_eq!(repeats_after(&[("{}", one.clone()), ("{}", one.clone())], "{}"), 2);
        assert_eq!(repeats_after(&[("{}", one.clone()), ("{}", other.clone())], "{}"), 1);
        assert_eq!(repeats_after(&[("{}", other), ("{}", one.clone()), ("{}", one.clone())], "{}"), 2);
        assert_eq!(repeats_after(&[("{}", one.clone()), ("{\"a\":1}", one.clone()), ("{}", one)], "{}"), 1);
    }

    #[test]
    fn calls_are_compared_as_json() {
        let one = done("1");
        assert_eq!(repeats_after(&[("{\"a\": 1, \"b\": 2}", one.clone())], "{\"b\":2,\"a\":1}"), 1);
        assert_eq!(repeats_after(&[("{\"a\": 1}", one.clone())], "{\"a\": \"1\"}"), 0);
        assert_eq!(repeats_after(&[("{", one.clone())], "{"), 1);
        assert_eq!(repeats_after(&[("{", one)], "{ "), 0);
    }

    #[test]
    fn a_refusal_does_not_count_as_another_answer() {
        let one = done("1");
        let past = [("{}", one.clone()), ("{}", one.clone()), ("{}", refusal()), ("{}", refusal())];
        assert_eq!(repeats_after(&past, "{}"), 4);
        assert_eq!(repeats_after(&[&past[..], &[("{}", one)]].concat(), "{}"), 5);
    }

    #[test]
    fn a_message_resets_the_count() {
        let mut repeats = RepeatTracker::default();
        (0..2).for_each(|_| turn(&mut repeats, "{}", done("1")));
        repeats.reset();
        repeats.record_calls(&answer_with(&[call("b", "view", "{}")]));
        assert_eq!((repeats.times(&CallId("b".into())), repeats.stale()), (0, 0));
    }

    #[test]
    fn other_calls_in_the_same_answer_end_a_repetition() {
        let mut repeats = RepeatTracker::default();
        turn(&mut repeats, "{}", done("1"));
        repeats.record_calls(&answer_with(&[
            call("1", "view", "{}"),
            call("2", "shell", "{}"),
            call("3", "view", "{}"),
        ]));
        assert_eq!(["1", "2", "3"].map(|id| repeats.times(&CallId(id.into()))), [1, 0, 0]);
    }

    #[test]
    fn repeated_cycles_of_calls_count_as_stale_turns() {
        let mut repeats = RepeatTracker::default();
        for _ in 0..3 {
            ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"].iter().for_each(|input| turn(&mut repeats, input, done("1")));
        }
        assert_eq!(repeats.stale(), 6);
        turn(&mut repeats, "{\"a\":1}", refusal());
        assert_eq!(repeats.stale(), 7);
        turn(&mut repeats, "{\"a\":1}", done("2"));
        assert_eq!(repeats.stale(), 0);
    }
}
