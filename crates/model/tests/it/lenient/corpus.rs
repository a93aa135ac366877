//! Every output of the corpus, whole and in pieces, and under conditions that forbid calls.

use bosun_model::{Delta, Model, ModelTier, ToolCallPolicy};
use protocol::{CallId, ContentBlock, StopReason, ToolCallRequest};

use super::read::{READ, Read};
use super::refused::REFUSED;
use super::stage::{done, lenient, lines, only, pieces, read, read_in_pieces, reply};

fn calls(read: &Read) -> bool {
    read.lines.iter().any(|line| line.starts_with("calls "))
}

#[test]
fn wrapper_keeps_the_name_and_facts_of_the_model() {
    let model = lenient(Vec::new());
    assert_eq!((model.name(), model.facts().tier), ("said/it", ModelTier::Small));
}

#[test]
fn unambiguous_calls_are_read() {
    assert!(READ.len() + REFUSED.len() >= 60, "{} and {}", READ.len(), REFUSED.len());
    for case in READ {
        let reply = read(case.text);
        assert_eq!(lines(&reply), case.lines, "{}", case.name);
        let stop = if calls(case) { StopReason::Calls } else { StopReason::End };
        assert_eq!(reply.stop, stop, "{}", case.name);
    }
}

#[test]
fn ambiguous_calls_stay_text() {
    for case in REFUSED {
        let reply = read(case.text);
        assert_eq!(reply.content, only(case.text), "{}", case.why);
        assert_eq!(reply.stop, StopReason::End, "{}", case.why);
    }
}

#[test]
fn splitting_an_answer_changes_nothing() {
    let texts = READ.iter().map(|case| case.text).chain(REFUSED.iter().map(|case| case.text));
    for text in texts {
        for size in [1, 2, 3, 7] {
            assert_eq!(read_in_pieces(text, size, StopReason::End), read(text), "{size}: {text}");
        }
    }
}

#[test]
fn truncated_answer_makes_no_calls() {
    for case in READ.iter().filter(|case| calls(case)) {
        for stop in [StopReason::Length, StopReason::Refusal] {
            let reply = read_in_pieces(case.text, 5, stop);
            assert_eq!(reply.stop, stop);
            assert_text(&reply.content, case.text);
        }
    }
}

#[test]
fn no_calls_are_read_if_calls_are_forbidden() {
    for case in READ.iter().filter(|case| calls(case)) {
        let reply = reply(vec![Delta::Text(case.text.into()), done(StopReason::End)], ToolCallPolicy::Forbidden);
        assert_eq!(reply.stop, StopReason::End);
        assert_text(&reply.content, case.text);
    }
}

#[test]
fn structured_calls_pass_and_surrounding_text_stays_text() {
    let call = ToolCallRequest { id: CallId("x".into()), tool: "view".into(), input: "{".into() };
    let stop = StopReason::Calls;
    for case in READ.iter().filter(|case| calls(case)) {
        let (text, structured) = (Delta::Text(case.text.into()), Delta::Call(call.clone()));
        let after = reply(vec![text.clone(), structured.clone(), done(stop)], ToolCallPolicy::Allowed);
        let Some((ContentBlock::Call(last), before)) = after.content.split_last() else { panic!("{after:?}") };
        assert_eq!(*last, call);
        assert_text(before, case.text);
        let before = reply(vec![structured, text, done(stop)], ToolCallPolicy::Allowed);
        assert_eq!(before.content, [vec![ContentBlock::Call(call.clone())], only(case.text)].concat());
    }
}

/// The content is the text, without reasoning that was recognised at its start.
fn assert_text(content: &[ContentBlock], text: &str) {
    let thoughts = text.strip_prefix("<think>").and_then(|text| text.rsplit_once("</think>"));
    let rest = thoughts.map_or(text, |(_, rest)| rest.trim_start());
    let content =
        content.strip_prefix(&[ContentBlock::Thinking { text: "I need the file.".into() }]).unwrap_or(content);
    assert_eq!(content, only(rest));
}

#[test]
fn call_ids_are_unique_in_an_answer_and_a_turn() {
    let one = "<tool_call>{\"name\": \"todos\"}</tool_call>";
    let reply = read(&format!("{one}{one} and\n```json\n[{{\"tool\": \"view\", \"path\": \"a\"}}]\n```"));
    let ids = reply.content.iter().filter_map(|block| match block {
        ContentBlock::Call(call) => Some(call.id.0.as_str()),
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    });
    assert_eq!(ids.collect::<Vec<_>>(), ["text-3-1", "text-3-2", "text-3-3"]);
}

#[test]
fn text_is_streamed_except_while_it_may_be_a_call() {
    let texts = ["It is ", "so.\n", "```json\n", "{\"a\":", " 1}\n```", " And", " on ", "<tool", "_bar> it goes."];
    let deltas: Vec<Delta> = texts.iter().map(|text| Delta::Text((*text).into())).collect();
    let text = |text: &str| Delta::Text(text.into());
    let expected = [
        text("It is"),
        text(" so."),
        text("\n```json\n{\"a\": 1}\n```"),
        text(" And"),
        text(" on"),
        text(" <tool_bar> it goes."),
    ];
    assert_eq!(pieces(deltas, ToolCallPolicy::Allowed), expected);
}

#[test]
fn reasoning_is_streamed() {
    let deltas = ["<thi", "nk> a b", " c</th", "e </thi", "nk>\n", "d"].map(|text| Delta::Text(text.into())).to_vec();
    let think = |text: &str| Delta::Thinking(text.into());
    let expected = [think("a b"), think(" c"), think("</the"), Delta::Text("d".into())];
    assert_eq!(pieces(deltas, ToolCallPolicy::Allowed), expected);
}

#[test]
fn other_content_keeps_its_position() {
    let thinking = Delta::Thinking("hm".into());
    let call = "<tool_call>{\"name\": \"todos\"}</tool_call>";
    let deltas = |text: &str| vec![Delta::Text(text.into()), thinking.clone(), done(StopReason::End)];
    assert_eq!(lines(&reply(deltas("a <tool_call>"), ToolCallPolicy::Allowed)), ["says a <tool_call>", "thinks hm"]);
    assert_eq!(lines(&reply(deltas(call), ToolCallPolicy::Allowed)), ["calls todos {}", "thinks hm"]);
}

#[test]
fn the_documented_forms_are_read() {
    let page = include_str!("../../../../../docs/local-models.md");
    let table = page.split("| written as | for example |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let examples: Vec<&str> = rows.map(|row| row.rsplit(" | ").next().unwrap().trim_end_matches(" |")).collect();
    assert_eq!(examples.len(), 6);
    for example in examples {
        let text = example.strip_prefix('`').and_then(|text| text.strip_suffix('`')).unwrap().trim();
        assert_eq!(lines(&read(text)), [r#"calls view {"path":"a.txt"}"#], "{text}");
    }
}
