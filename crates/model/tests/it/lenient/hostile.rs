//! Answers that are expensive to read.

use std::time::{Duration, Instant};

use bosun_model::{Delta, Model, ModelReply, ToolCallPolicy};
use futures_util::{FutureExt, StreamExt};
use protocol::{ModelFault, StopReason};

use super::stage::{lenient, only, read, read_in_pieces, request};

const MIB: usize = 1 << 20;
/// Long enough that anything quadratic takes minutes.
const LONG: usize = MIB / 8;

fn quickly(text: &str) {
    let start = Instant::now();
    let whole = read(text);
    assert_eq!(whole, read_in_pieces(text, 4, StopReason::End));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?} for {:.20}", start.elapsed(), text);
    assert_eq!(whole.content, only(text), "{text:.20}");
}

#[test]
fn long_repetitions_take_linear_time() {
    let unending = [
        "{",
        "[",
        "`",
        "~",
        "<",
        "```json\n",
        "```json\n{",
        "{\"a\":",
        "<tool_call>",
        "<tool_call>{//",
        "<tool_call>{\"",
        "<tool_call>{'a': \"b\", ",
        "<function=a><parameter=b>",
        "[TOOL_CALLS] [",
        "[TOOL_",
        "</think",
        "\n```\n~~~\n",
        "x ",
        "“",
    ];
    for piece in unending {
        quickly(&piece.repeat(LONG / piece.len()));
    }
    quickly(&"{".repeat(MIB));
    quickly(&"`".repeat(MIB));
    quickly(&format!("<tool_call>{{{}", "\"a\": 1, ".repeat(LONG / 8)));
    let many = (0..LONG / 16).map(|n| format!("\"a{n}\": 1")).collect::<Vec<_>>().join(",");
    quickly(&format!("<tool_call>{{{many}}}"));
    let parameters = (0..LONG / 32).map(|n| format!("<parameter=a{n}>x</parameter>")).collect::<String>();
    quickly(&format!("<function=view>{parameters}</function>"));
}

#[test]
fn endless_white_space_is_limited() {
    for beginning in ["", "<think>", "<think></think>", "```json\n"] {
        let first = Delta::Text(beginning.into());
        let deltas = std::iter::once(first).chain(std::iter::repeat_n(Delta::Text(" ".repeat(MIB)), 34));
        let asked = ModelReply::collect(lenient(deltas.collect()).send(request(ToolCallPolicy::Allowed)));
        let error = asked.now_or_never().unwrap().unwrap_err();
        assert_eq!(error.fault, ModelFault::Terminal, "{beginning}");
    }
}

#[test]
fn too_long_possible_call_is_passed_on_as_text() {
    let call = "<tool_call>{\"name\": \"todos\"}</tool_call>";
    let long = format!(
        "<tool_call>{{\"name\": \"shell\", \"arguments\": {{\"command\": \"{}\"}}}}</tool_call>",
        "x".repeat(MIB)
    );
    assert_eq!(read(&long).content, only(&long));
    let after = format!("{call}{}{call}", "x".repeat(MIB));
    assert_eq!(read(&after).content, only(&after));
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        format!("{{\"name\": \"view\", \"arguments\": {{\"path\": {value}}}}}")
    };
    assert_eq!(read(&nested(20)).stop, StopReason::Calls);
    assert_eq!(read(&nested(100)).content, only(&nested(100)));
}

#[test]
fn interrupted_answer_makes_no_calls() {
    let text = Delta::Text("<tool_call>{\"name\": \"todos\"}</tool_call>".into());
    let cut = lenient(vec![text]).send(request(ToolCallPolicy::Allowed)).collect::<Vec<_>>();
    assert_eq!(cut.now_or_never().unwrap(), []);
}

#[test]
fn endless_empty_pieces_are_refused() {
    let deltas = std::iter::repeat_n(Delta::Text(String::new()), 3 * MIB);
    let asked = ModelReply::collect(lenient(deltas.collect()).send(request(ToolCallPolicy::Allowed)));
    assert_eq!(asked.now_or_never().unwrap().unwrap_err().fault, ModelFault::Terminal);
}
