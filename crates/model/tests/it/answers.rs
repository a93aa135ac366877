//! The parts of a scripted answer.

use bosun_model::{Delta, Model, ModelReply, ScriptModel};
use protocol::ToolResultStatus::Done;
use protocol::{CallId, ContentBlock, ModelFault, StopReason, ToolCallRequest, Usage};

use crate::conversation::{Then, offering, prompt, reply, script, sent, words};

#[tokio::test]
async fn texts_refer_to_the_request() {
    let mut request = prompt("fix lexer and parser").calls("shell", "{}").answered("shell", Done, "2 FAILED");
    request.attempt = 4;
    let cases = [
        ("${prompt}", "fix lexer and parser"),
        ("${turn}.${attempt} ${agent} ${path}", "2.4 main /root"),
        ("${answer}", "2 FAILED"),
        ("${1}, ${2}, ${3}", "lexer, parser, "),
        ("${repeat:ab:3}!", "ababab!"),
        ("$${prompt} costs $5", "${prompt} costs $5"),
    ];
    for (say, said) in cases {
        let when = "prompt: 'fix (\\w+) and (\\w+)(x)?'";
        let script = script(&format!("  - when: {{ {when} }}\n    answer: [ {{ say: '{say}' }} ]\n"));
        assert_eq!(words(&script, request.clone()).await, said, "{say}");
    }
}

#[tokio::test]
async fn first_condition_with_groups_provides_them() {
    let request = offering(prompt("ab").says("cd").calls("shell", "{}").answered("shell", Done, "3 FAILED"), "view");
    let cases = [
        ("agent: '(m).*', path: '/(r).*'", "m"),
        ("path: '/(r).*', system: '(h)elp'", "r"),
        ("system: '(h)elp', prompt: '(b)'", "h"),
        ("prompt: '(b)', said: '(d)'", "b"),
        ("said: '(d)', answered: { tool: '(sh).*' }", "d"),
        ("answered: { tool: '(sh).*', matches: '(3)' }", "sh"),
        ("answered: { matches: '(3)' }, contains: '(a)'", "3"),
        ("contains: '(a)', tools: '(v).*'", "a"),
        ("tools: '(v).*', not: { prompt: '(z)' }", "v"),
    ];
    for (when, said) in cases {
        let script = script(&format!("  - when: {{ {when} }}\n    answer: [ {{ say: '${{1}}' }} ]\n"));
        assert_eq!(words(&script, request.clone()).await, said, "{when}");
    }
}

#[tokio::test]
async fn inputs_keep_their_order_and_their_types() {
    let rules = r#"
  - when: { prompt: "(.*)" }
    answer:
      - call:
          tool: edit
          input: { z: "${1}", a: [1, -2, 1.5, true, null, "x\n"], "k\"": {}, yes: yes, empty: "" }
      - call: { tool: "${1}_tool" }
      - call: { id: "mine-${turn}", tool: view, input: text }
"#;
    let call = |id: &str, tool: &str, input: &str| {
        ContentBlock::Call(ToolCallRequest { id: CallId(id.into()), tool: tool.into(), input: input.into() })
    };
    let reply = reply(&script(rules), prompt(r#"say "hi""#)).await.unwrap();
    let expected = [
        call(
            "call-1-1",
            "edit",
            r#"{"z":"say \"hi\"","a":[1,-2,1.5,true,null,"x\n"],"k\"":{},"yes":"yes","empty":""}"#,
        ),
        call("call-1-2", r#"say "hi"_tool"#, "{}"),
        call("mine-1", "view", r#""text""#),
    ];
    assert_eq!(reply.content, expected);
    assert_eq!(reply.stop, StopReason::Calls);
}

#[tokio::test]
async fn answer_is_streamed_in_order_and_ends_once() {
    let rules = "  - answer:\n      - think: hm\n      - say: a\n      - call: { tool: t }\n      - say: b\n";
    let sent = sent(&script(rules), prompt("go")).await;
    let call = ToolCallRequest { id: CallId("call-1-1".into()), tool: "t".into(), input: "{}".into() };
    let usage = Usage { input: 3, output: 2, ..Usage::default() };
    let expected = [
        Delta::Thinking("hm".into()),
        Delta::Text("a".into()),
        Delta::Call(call),
        Delta::Text("b".into()),
        Delta::Done { stop: StopReason::Calls, usage, model: "script/test.yaml".into() },
    ];
    assert_eq!(sent, expected.map(Ok));
}

#[tokio::test]
async fn usage_is_scripted_or_estimated() {
    let given = script("  - answer: [ { say: hello } ]\n    usage: { input: 1200, output: 80, cache_read: 7 }\n");
    let usage = reply(&given, prompt("go")).await.unwrap().usage;
    assert_eq!(usage, Usage { input: 1200, output: 80, cache_read: 7, cache_write: 0 });

    let estimated = script("  - answer: [ { say: hello } ]\n");
    let request = offering(prompt("four").calls("view", "{}").answered("view", Done, "12345"), "view");
    let usage = reply(&estimated, request).await.unwrap().usage;
    // 9 of the system prompt, 4, 4 + 2, 5, and 4 + 0 + 2 for the tool: 30 bytes.
    assert_eq!(usage, Usage { input: 8, output: 2, ..Usage::default() });
}

#[tokio::test]
async fn answer_depends_only_on_the_request() {
    let text =
        "version: 1\nagents:\n  main:\n    - [ { say: '${prompt}' }, { call: { tool: t } } ]\n    - [ { say: b } ]\n";
    let (first, second) = (ScriptModel::parse(text, "s").unwrap(), ScriptModel::parse(text, "s").unwrap());
    let later = prompt("x").calls("t", "{}");
    let expected = sent(&second, later.clone()).await;
    for _ in 0..3 {
        assert_eq!(sent(&first, prompt("x")).await, sent(&second, prompt("x")).await);
        assert_eq!(sent(&first, later.clone()).await, expected);
    }
}

#[tokio::test]
async fn failures_have_their_class() {
    let cases = [
        ("{ class: transient }", ModelFault::Transient, "the script fails here temporarily"),
        ("{ class: retry-after, after: 2s }", ModelFault::RetryAfter { millis: 2000 }, {
            "the script asks for a retry later"
        }),
        (
            "{ class: quota-until, after: 1m, message: 'no more for ${agent}' }",
            ModelFault::QuotaUntil { until_at: protocol::Timestamp(61_000) },
            "no more for main",
        ),
        ("{ class: auth }", ModelFault::Auth, "the script refuses the key"),
        ("{ class: terminal }", ModelFault::Terminal, "the script fails here permanently"),
    ];
    for (fail, fault, message) in cases {
        let whole = sent(&script(&format!("  - fail: {fail}\n")), prompt("go")).await;
        let later =
            sent(&script(&format!("  - answer: [ {{ say: half }}, {{ fail: {fail} }} ]\n")), prompt("go")).await;
        let error = whole[0].clone().unwrap_err();
        assert_eq!((error.fault, error.message.as_str()), (fault, message));
        assert_eq!(whole.len(), 1);
        assert_eq!(later, [Ok(Delta::Text("half".into())), Err(error)]);
    }
}

#[tokio::test]
async fn answer_size_is_limited() {
    let rules = format!("  - answer:\n{}", "      - say: '${repeat:x:9000000}'\n".repeat(2));
    let error = reply(&script(&rules), prompt("go")).await.unwrap_err();
    assert_eq!(error.message, "test.yaml: the answer is larger than 16777216 bytes");

    let most = script("  - answer: [ { say: '${repeat:x:16000000}' } ]\n");
    assert_eq!(words(&most, prompt("go")).await.len(), 16_000_000);
}

#[tokio::test]
async fn scripted_model_is_named_as_such() {
    let script = ScriptModel::parse("version: 1\nrules: [ { answer: [] } ]", "some/folder/fix.yaml").unwrap();
    assert_eq!(script.name(), "script/fix.yaml");
    let ModelReply { model, content, stop, .. } = reply(&script, prompt("go")).await.unwrap();
    assert_eq!((model.as_str(), content, stop), ("script/fix.yaml", Vec::new(), StopReason::End));
}

#[tokio::test]
async fn end_of_an_answer_is_known_in_advance() {
    let ends = |steps: &str| script(&format!("  - answer: [ {steps} ]\n")).ending(&prompt("go"));
    for steps in ["{ say: a }, { wait: 1h }", "{ say: a }, { stop: length }", "{ call: { tool: view } }"] {
        let (stop, usage) = ends(steps).unwrap();
        let quick = steps.replace("{ wait: 1h }", "{ wait: 0s }");
        let given = reply(&script(&format!("  - answer: [ {quick} ]\n")), prompt("go")).await.unwrap();
        assert_eq!((stop, usage), (given.stop, given.usage), "{steps}");
    }
    for steps in ["{ say: a }, { cut: true }", "{ say: a }, { hang: true }", "{ fail: { class: transient } }"] {
        assert_eq!(ends(steps), None, "{steps}");
    }
    assert_eq!(script("  - when: { prompt: other }\n    answer: []\n").ending(&prompt("go")), None);
}
