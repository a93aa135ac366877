//! Which rule answers which request.

use bosun_model::ModelRequest;
use protocol::ToolResultStatus::{Broken, Done, Refused};

use crate::conversation::{Then, offering, prompt, reply, script, words};

/// Checks for each `when` whether it holds for `request`.
async fn check(request: &ModelRequest, cases: &[(&str, bool)]) {
    for (when, holds) in cases {
        let script = script(&format!("  - when: {when}\n    answer: [ {{ say: x }} ]\n  - answer: []\n"));
        assert_eq!(words(&script, request.clone()).await == "x", *holds, "{when}");
    }
}

const HOLDS: bool = true;
const FAILS: bool = false;

#[tokio::test]
async fn conditions_on_agent_and_turn() {
    let mut request = prompt("a").says("b").user("c");
    request.path = "/root/tests".into();
    request.attempt = 3;
    check(
        &request,
        &[
            ("{}", HOLDS),
            ("{ agent: main }", HOLDS),
            ("{ agent: mai }", FAILS),
            ("{ agent: 'ma.*|other' }", HOLDS),
            ("{ path: /root/tests }", HOLDS),
            ("{ path: /root }", FAILS),
            ("{ path: /root/.* }", HOLDS),
            ("{ turn: 2 }", HOLDS),
            ("{ turn: '2' }", HOLDS),
            ("{ turn: 1 }", FAILS),
            ("{ turn: 2..4 }", HOLDS),
            ("{ turn: ..2 }", HOLDS),
            ("{ turn: 3.. }", FAILS),
            ("{ attempt: 3 }", HOLDS),
            ("{ attempt: 1 }", FAILS),
            ("{ system: help }", HOLDS),
            ("{ system: harm }", FAILS),
        ],
    )
    .await;
}

#[tokio::test]
async fn conditions_on_messages() {
    let request = prompt("fix the parser").says("I will look").calls("view", r#"{"path":"lib.rs"}"#);
    let request = request.answered("view", Done, "fn parse() {}").user("hurry up");
    check(
        &offering(offering(request, "view"), "shell"),
        &[
            ("{ prompt: up$ }", HOLDS),
            ("{ prompt: fix }", FAILS),
            ("{ said: '^I will' }", HOLDS),
            ("{ said: hurry }", FAILS),
            ("{ contains: 'fix the .*' }", HOLDS),
            ("{ contains: lib.rs }", HOLDS),
            ("{ contains: 'fn parse' }", HOLDS),
            ("{ contains: nothing }", FAILS),
            ("{ tools: shell }", HOLDS),
            ("{ tools: she }", FAILS),
            ("{ not: { tools: edit } }", HOLDS),
            ("{ not: { tools: shell } }", FAILS),
            ("{ not: { tools: shell, prompt: wait } }", HOLDS),
            ("{ not: { not: { prompt: hurry } } }", HOLDS),
            ("{ prompt: hurry, said: never }", FAILS),
        ],
    )
    .await;
}

#[tokio::test]
async fn conditions_on_tool_results() {
    let request = prompt("go").calls("shell", "{}").answered("shell", Refused, "3 FAILED");
    let cases = [
        ("{ answered: {} }", HOLDS),
        ("{ answered: { tool: shell } }", HOLDS),
        ("{ answered: { tool: view } }", FAILS),
        ("{ answered: { tool: shell, matches: '[0-9]+ FAILED', status: refused } }", HOLDS),
        ("{ answered: { matches: FAILED, status: done } }", FAILS),
        ("{ answered: { tool: shell, matches: passed } }", FAILS),
    ];
    check(&request, &cases).await;
    check(&request.clone().user("steer"), &cases).await;
    check(&request.says("done"), &[("{ answered: {} }", FAILS)]).await;
    check(&prompt("go"), &[("{ answered: {} }", FAILS)]).await;
}

#[tokio::test]
async fn all_conditions_must_hold_for_one_tool_result() {
    let request = prompt("go").calls("a", "{}").answered("a", Done, "x").answered("b", Broken, "y");
    check(
        &request,
        &[
            ("{ answered: { matches: x, status: done } }", HOLDS),
            ("{ answered: { matches: y, status: broken } }", HOLDS),
            ("{ answered: { matches: x, status: broken } }", FAILS),
            ("{ answered: { tool: b } }", FAILS),
        ],
    )
    .await;
}

#[tokio::test]
async fn first_matching_rule_answers() {
    let script = script(concat!(
        "  - when: { turn: 1 }\n    answer: [ { say: first } ]\n",
        "  - when: { agent: main }\n    answer: [ { say: second } ]\n",
    ));
    assert_eq!(words(&script, prompt("a")).await, "first");
    assert_eq!(words(&script, prompt("a").says("b")).await, "second");
}

#[tokio::test]
async fn answers_by_turn_are_used_if_no_rule_matches() {
    let text = "version: 1\nrules:\n  - when: { prompt: stop }\n    answer: [ { say: stopped } ]\n\
                agents:\n  main: [ [ { say: one } ], [ { say: two } ] ]\n  a.c: [ [ { say: other } ] ]\n";
    let script = bosun_model::ScriptModel::parse(text, "test.yaml").unwrap();
    assert_eq!(words(&script, prompt("go")).await, "one");
    assert_eq!(words(&script, prompt("go").says("one")).await, "two");
    assert_eq!(words(&script, prompt("stop")).await, "stopped");
    let mut request = prompt("go");
    request.agent = "a.c".into();
    assert_eq!(words(&script, request.clone()).await, "other");
    request.agent = "abc".into();
    assert!(reply(&script, request).await.is_err());
}

#[tokio::test]
async fn request_without_a_matching_rule_is_an_error_that_quotes_it() {
    let script = script("  - when: { turn: 9 }\n    answer: []\n");
    let error = reply(&script, prompt("fix\nit").says("b")).await.unwrap_err();
    assert_eq!(error.fault, protocol::ModelFault::Terminal);
    assert_eq!(error.message, r#"no rule of test.yaml matches agent `main` at /root, turn 2, prompt "fix\nit""#);
    assert_eq!(error.hint.unwrap(), "add a rule for it, or a last rule without `when` that answers everything");
}
