//! Stops a small model that makes one call again and again. It is decided from the conversation alone, so a new owner
//! decides the same.

use model::{Facts, Message, Skill};
use protocol::{Answer, AnswerStatus, Block, Call, CallId, Clip};
use serde_json::Value;

use crate::conversation::Conversation;

/// The call that is not run any more, counted from the first of its kind.
const REFUSED: usize = 3;
/// The call that ends the activation.
const HOPELESS: usize = 6;
/// What the model is told instead of an answer.
const REPEATED: &str = include_str!("../prompts/repeated_call.md");

/// A model that goes on with a call although it was told not to.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the model repeats the call `{tool} {input}` and gets no further; use a larger model, or ask for a smaller step"
)]
pub(super) struct Hopeless {
    tool: String,
    input: Clip,
}

/// The open calls that are not to be run, since they only repeat what was answered before.
pub(super) fn repeated(facts: &Facts, conversation: &Conversation) -> Result<Vec<CallId>, Hopeless> {
    match facts.skill {
        Skill::Able => return Ok(Vec::new()),
        Skill::Small => {}
    }
    let mut refused = Vec::new();
    for call in conversation.open_calls() {
        let times = repeats(conversation.messages(), &call) + 1;
        if times >= HOPELESS {
            return Err(Hopeless { tool: call.tool, input: Clip::new(&call.input, 200) });
        }
        if times >= REFUSED {
            refused.push(call.id);
        }
    }
    Ok(refused)
}

/// What a call that is not run is answered.
pub(super) fn refusal() -> Answer {
    Answer { status: AnswerStatus::Refused, text: REPEATED.trim_end().into() }
}

/// How often in a row this call of the latest message was made before it, always with the same answer. Anything else
/// that was called or said to the model in between begins anew.
fn repeats(messages: &[Message], call: &Call) -> usize {
    let Some((Message::Assistant { content }, mut past)) = messages.split_last() else { return 0 };
    if calls(content).take_while(|other| other.id != call.id).any(|other| !is_same(other, call)) {
        return 0;
    }
    let (refusal, mut known, mut times) = (refusal(), None, 0);
    while let [before @ .., Message::Assistant { content }, Message::Answers { answers }] = past {
        for other in calls(content).rev() {
            let answer = answers.iter().find(|(id, _)| *id == other.id).map(|(_, answer)| answer);
            let Some(answer) = answer.filter(|_| is_same(other, call)) else { return times };
            if *answer != refusal && *known.get_or_insert(answer) != answer {
                return times;
            }
            times += 1;
        }
        past = before;
    }
    times
}

fn calls(content: &[Block]) -> impl DoubleEndedIterator<Item = &Call> {
    content.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
    })
}

/// Whether they ask for the same, however it is written.
fn is_same(one: &Call, other: &Call) -> bool {
    let parsed = |call: &Call| serde_json::from_str::<Value>(&call.input).ok();
    one.tool == other.tool && (one.input == other.input || parsed(one).is_some_and(|it| parsed(other) == Some(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, tool: &str, input: &str) -> Call {
        Call { id: CallId(id.into()), tool: tool.into(), input: input.into() }
    }

    fn asks(calls: &[Call]) -> Message {
        let text = Block::Text { text: "Again.".into() };
        Message::Assistant { content: [text].into_iter().chain(calls.iter().cloned().map(Block::Call)).collect() }
    }

    fn done(text: &str) -> Answer {
        Answer { status: AnswerStatus::Done, text: text.into() }
    }

    /// A conversation of single calls with their answers, and one more call.
    fn after(past: &[(&str, Answer)], last: &str) -> usize {
        let mut messages = vec![Message::user("go")];
        for (input, answer) in past {
            messages.push(asks(&[call("a", "view", input)]));
            messages.push(Message::Answers { answers: vec![(CallId("a".into()), answer.clone())] });
        }
        let last = call("b", "view", last);
        messages.push(asks(std::slice::from_ref(&last)));
        repeats(&messages, &last)
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
        let same = call("a", "view", "{}");
        let answers = Message::Answers { answers: vec![(CallId("a".into()), done("1"))] };
        let past = [asks(std::slice::from_ref(&same)), answers];
        let again = [&past[..], &past[..], &[asks(std::slice::from_ref(&same))]].concat();
        assert_eq!(repeats(&again, &same), 2);
        let told = [&past[..], &past[..], &[Message::user("try again"), asks(std::slice::from_ref(&same))]].concat();
        assert_eq!(repeats(&told, &same), 0);
    }

    #[test]
    fn calls_of_one_answer_stand_between_each_other() {
        let (first, other, same) = (call("1", "view", "{}"), call("2", "shell", "{}"), call("3", "view", "{}"));
        let past = asks(std::slice::from_ref(&first));
        let answers = Message::Answers { answers: vec![(first.id.clone(), done("1"))] };
        let messages = [past, answers, asks(&[first.clone(), other.clone(), same.clone()])];
        assert_eq!([&first, &other, &same].map(|call| repeats(&messages, call)), [1, 0, 0]);
    }
}
