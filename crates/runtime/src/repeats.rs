//! Counts how often a model repeats itself. It counts a task's events, not its conversation, which loses content in a
//! compaction; so a new owner process gets the same count.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use protocol::{CallId, ContentBlock, ToolCallRequest, ToolResult, ToolResultStatus};
use serde_json::Value;

/// The reply to a repeated call.
const REPEATED: &str = include_str!("prompts/repeated_call.md");

/// How many different calls are remembered with their answers.
const REMEMBERED: usize = 256;

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
    times: usize,
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
            let Some((_, answer)) = answers.iter().find(|(of, _)| *of == id) else { continue };
            let known = (*answer != refusal).then(|| hash_of((answer.status.as_str(), &answer.text)));
            self.count(call, known);
            // A refusal means that the call was seen before.
            if let Some(pair) =
                known.map(|known| hash_of((call, known))).filter(|pair| !self.seen_answers.contains(pair))
            {
                fresh = true;
                self.seen_answers.push_back(pair);
            }
        }
        let over = self.seen_answers.len().saturating_sub(REMEMBERED);
        self.seen_answers.drain(..over);
        self.stale = if fresh { 0 } else { self.stale + 1 };
    }

    /// Starts over: the model has received a message.
    pub(crate) fn reset(&mut self) {
        (self.current, self.stale) = (None, 0);
        self.seen_answers.clear();
    }

    /// How often in a row this call was made before the latest answer, always with the same result.
    pub(crate) fn times(&self, id: &CallId) -> usize {
        let Some(at) = self.latest_calls.iter().position(|(of, _)| of == id) else { return 0 };
        let call = self.latest_calls[at].1;
        let alone = self.latest_calls[..at].iter().all(|(_, other)| *other == call);
        self.current.as_ref().filter(|row| alone && row.call == call).map_or(0, |row| row.times)
    }

    /// How many turns in a row brought nothing new.
    pub(crate) fn stale(&self) -> u32 {
        self.stale
    }

    fn count(&mut self, call: u64, answer: Option<u64>) {
        match &mut self.current {
            Some(row) if row.call == call && (answer.is_none() || row.answer.is_none() || row.answer == answer) => {
                row.answer = row.answer.or(answer);
                row.times += 1;
            }
            row => *row = Some(RepeatedCall { call, answer, times: 1 }),
        }
    }
}

/// A hash that is equal for equivalent calls, regardless of formatting.
fn call_hash(call: &ToolCallRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.tool.hash(&mut hasher);
    match serde_json::from_str(&call.input) {
        Ok(value) => add(&value, &mut hasher),
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
fn add(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            fields.len().hash(hasher);
            for (name, value) in fields {
                name.hash(hasher);
                add(value, hasher);
            }
        }
        Value::Array(values) => {
            values.len().hash(hasher);
            values.iter().for_each(|value| add(value, hasher));
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

    fn asks(calls: &[ToolCallRequest]) -> Vec<ContentBlock> {
        let text = ContentBlock::Text { text: "Again.".into() };
        [text].into_iter().chain(calls.iter().cloned().map(ContentBlock::Call)).collect()
    }

    fn done(text: &str) -> ToolResult {
        ToolResult { status: ToolResultStatus::Done, text: text.into() }
    }

    fn turn(repeats: &mut RepeatTracker, input: &str, answer: ToolResult) {
        repeats.record_calls(&asks(&[call("a", "view", input)]));
        repeats.record_answers(&[(CallId("a".into()), answer)]);
    }

    /// Single calls with their answers, and one more call.
    fn after(past: &[(&str, ToolResult)], last: &str) -> usize {
        let mut repeats = RepeatTracker::default();
        past.iter().for_each(|(input, answer)| turn(&mut repeats, input, answer.clone()));
        repeats.record_calls(&asks(&[call("b", "view", last)]));
        repeats.times(&CallId("b".into()))
    }

    #[test]
    fn the_same_call_with_the_same_answer_counts() {
        let (one, other) = (done("1"), done("2"));
        assert_eq!(after(&[], "{}"), 0);
        assert_eq!(after(&[("{}", one.clone()), ("{}", one.clone())], "{}"), 2);
        assert_eq!(after(&[("{}", one.clone()), ("{}", other.clone())], "{}"), 1);
        assert_eq!(after(&[("{}", other), ("{}", one.clone()), ("{}", one.clone())], "{}"), 2);
        assert_eq!(after(&[("{}", one.clone()), ("{\"a\":1}", one.clone()), ("{}", one)], "{}"), 1);
    }

    #[test]
    fn equal_is_what_is_equal_as_json() {
        let one = done("1");
        assert_eq!(after(&[("{\"a\": 1, \"b\": 2}", one.clone())], "{\"b\":2,\"a\":1}"), 1);
        assert_eq!(after(&[("{\"a\": 1}", one.clone())], "{\"a\": \"1\"}"), 0);
        assert_eq!(after(&[("{", one.clone())], "{"), 1);
        assert_eq!(after(&[("{", one)], "{ "), 0);
    }

    #[test]
    fn a_refusal_of_ours_is_no_other_answer() {
        let one = done("1");
        let past = [("{}", one.clone()), ("{}", one.clone()), ("{}", refusal()), ("{}", refusal())];
        assert_eq!(after(&past, "{}"), 4);
        assert_eq!(after(&[&past[..], &[("{}", one)]].concat(), "{}"), 5);
    }

    #[test]
    fn a_word_from_outside_begins_anew() {
        let mut repeats = RepeatTracker::default();
        (0..2).for_each(|_| turn(&mut repeats, "{}", done("1")));
        repeats.reset();
        repeats.record_calls(&asks(&[call("b", "view", "{}")]));
        assert_eq!((repeats.times(&CallId("b".into())), repeats.stale()), (0, 0));
    }

    #[test]
    fn calls_of_one_answer_stand_between_each_other() {
        let mut repeats = RepeatTracker::default();
        turn(&mut repeats, "{}", done("1"));
        repeats.record_calls(&asks(&[call("1", "view", "{}"), call("2", "shell", "{}"), call("3", "view", "{}")]));
        assert_eq!(["1", "2", "3"].map(|id| repeats.times(&CallId(id.into()))), [1, 0, 0]);
    }

    #[test]
    fn turns_that_go_round_in_a_circle_bring_nothing_new() {
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
