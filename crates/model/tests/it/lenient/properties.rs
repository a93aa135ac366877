//! Properties of every answer.

use proptest::prelude::*;
use protocol::{ContentBlock, StopReason};

use super::stage::{lines, only, read, read_in_pieces};

/// Pieces that answers are made of, sensible and not.
fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "```",
        "```json\n",
        "```tool_call\n",
        "~~~",
        "\n```\n",
        "<tool_call>",
        "</tool_call>",
        "<function=",
        "view",
        "</function>",
        "<parameter=path>",
        "</parameter>",
        "[TOOL_CALLS]",
        "<think>",
        "</think>",
        "{",
        "}",
        "[",
        "]",
        "\"name\"",
        "\"arguments\"",
        "'tool'",
        ":",
        ",",
        "\"view\"",
        "\"todos\"",
        "\"path\"",
        "True",
        "null",
        "12",
        "//",
        "\n",
        " ",
        "\\",
        "\"",
        "'",
        "“",
        "”",
        "é",
        "words ",
        "{\"name\": \"todos\", \"arguments\": {}}",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => ".{0,4}"]
}

fn answer() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

/// Text that contains no start or end of a marker.
fn words() -> impl Strategy<Value = String> {
    "[a-z][a-z .,\n]{0,20}[a-z.]"
}

/// Whether it begins with reasoning, from which white space is removed.
fn thinks(text: &str) -> bool {
    text.trim_start().starts_with("<think>")
}

fn is_call(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Call(_))
}

proptest! {
    #[test]
    fn splitting_any_answer_changes_nothing(text in answer(), size in 1..9usize) {
        prop_assert_eq!(read_in_pieces(&text, size, StopReason::End), read(&text));
    }

    #[test]
    fn answer_without_calls_is_unchanged(text in answer()) {
        let reply = read(&text);
        let called = reply.content.iter().any(is_call);
        prop_assert!(called || thinks(&text) || text.is_empty() || reply.content == only(&text), "{:?}", reply);
    }

    #[test]
    fn truncated_answer_makes_no_calls_and_loses_no_text(text in answer()) {
        let reply = read_in_pieces(&text, 3, StopReason::Length);
        prop_assert!(!reply.content.iter().any(is_call));
        prop_assert!(thinks(&text) || text.is_empty() || reply.content == only(&text), "{:?}", reply);
    }

    #[test]
    fn text_between_calls_keeps_its_order(parts in prop::collection::vec((words(), "[a-z]{1,8}", 0..3usize), 1..5)) {
        let mut text = String::new();
        let mut expected = Vec::new();
        for (words, path, form) in &parts {
            let call = format!("{{\"name\": \"view\", \"arguments\": {{\"path\": \"{path}\"}}}}");
            let written = match form {
                0 => format!("<tool_call>{call}</tool_call>"),
                1 => format!("```json\n{call}\n```"),
                _ => format!("[TOOL_CALLS] [{call}]"),
            };
            text.push_str(&format!("{words}\n{written}\n"));
            expected.push(format!("says {words}"));
            expected.push(format!("calls view {{\"path\":\"{path}\"}}"));
        }
        prop_assert_eq!(lines(&read(&text)), expected);
    }

    #[test]
    fn strict_json_keeps_its_meaning(path in "\\PC{0,30}", from in any::<i64>(), spaces in "[ \n\t]{0,3}") {
        let arguments = serde_json::json!({ "path": path, "from": from, "more": [1.5, null, true, { "a": path }] });
        let pretty = serde_json::to_string_pretty(&arguments).unwrap();
        let reply = read(&format!("{spaces}{{\"name\": \"view\",{spaces}\"arguments\": {pretty}}}{spaces}"));
        let [ContentBlock::Call(call)] = &reply.content[..] else { panic!("{reply:?}") };
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&call.input).unwrap(), arguments);
    }
}
