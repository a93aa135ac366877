//! What a script's author reads when the file is wrong.

use bosun_model::ScriptModel;

fn check(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        let error = ScriptModel::parse(text, "bad.yaml").map(|_| "no error").unwrap_err().to_string();
        assert_eq!(error, format!("bad.yaml:{message}"), "{text}");
    }
}

#[test]
fn in_the_file() {
    check(&[
        ("", "1:1: the file is empty; a script starts with `version: 1`"),
        ("[]", "1:1: expected mapping start"),
        ("rules: []", "1:1: the key `version` is missing; add it"),
        ("version: 1", "1:1: a script needs `rules` or `agents`; add one of them"),
        ("version: 2", "1:10: version 2 of the script format is unknown; this program reads version 1"),
        ("version: 1\nrule: []", "2:1: unknown key `rule`; known here: version, about, price, rules, agents"),
        ("version: 1\nversion: 1", "2:1: duplicate key `version`; remove one"),
        ("version: 1\n\"a\\eb\": 2", "2:1: unknown key `a\u{fffd}b`; known here: version, about, price, rules, agents"),
        ("version: 1\nrules:\n  - answer: [\n", "3:13: unclosed bracket '['"),
        ("version: 1\nrules:\n\t- answer: []", "3:2: tabs disallowed within this context (block indentation)"),
        (
            "version: 1\nrules: [ { answer: [] } ]\n---\nversion: 1",
            "4:1: only single YAML document expected but multiple found",
        ),
        (
            "version: 1\nagents:\n  main:\n    - [ { say: hi } ]\n    - [ { say: '${1}' } ]",
            "4:5: answers by turn have no capture groups; use a rule with `when`",
        ),
    ]);
}

#[test]
fn in_a_rule() {
    let rule = |rule: &str| format!("version: 1\nrules:\n  - {rule}");
    let cases = [
        ("when: { turn: 1 }", "3:5: a rule needs `answer` or `fail`; add one of them"),
        (
            "{ answer: [], fail: { class: auth } }",
            "3:5: a rule has either `answer` or `fail`; to fail later, make `fail` its last step",
        ),
        ("{ fail: { class: auth }, usage: { input: 1 } }", "3:5: a failure uses nothing; remove `usage`"),
        ("{ fail: { class: retry-after } }", "3:13: this class needs a duration; add `after: 2s`"),
        (
            "{ fail: { class: auth, after: 2s } }",
            "3:13: this class has no duration; remove `after`, or use retry-after or quota-until",
        ),
        ("{ fail: { class: bad } }", {
            "3:22: unknown value `bad`; known here: transient, retry-after, quota-until, auth, terminal"
        }),
        (
            "when: { prompt: '(a)' }\n    answer: [ { say: '${2}' } ]",
            "3:5: `${2}` refers to a group that no condition captures; the first condition with groups has 1",
        ),
        ("when: { prompt: 'a(' }", "3:21: `a(` is not a usable regular expression: unclosed group"),
        ("when: { prompt: }", "3:19: the value is missing; write it, or remove the key"),
        ("when: { turn: 4..2 }", {
            "3:19: `4..2` is not a number from 1 or a range of them; write 3, 2..4, 3.. or ..4"
        }),
        ("when: { answered: { status: ok } }", {
            "3:33: unknown value `ok`; known here: done, refused, denied, broken, interrupted, cancelled"
        }),
        ("when: { agnet: main }", {
            "3:13: unknown key `agnet`; known here: agent, path, turn, attempt, system, prompt, said, answered, \
             contains, tools, not"
        }),
    ];
    for (text, message) in cases {
        check(&[(&rule(text), message)]);
    }
}

#[test]
fn in_an_answer() {
    let step = |step: &str| format!("version: 1\nrules:\n  - answer:\n      - say: ok\n      - {step}\n");
    let cases = [
        ("shout: hey", {
            "5:9: unknown value `shout`; known here: say, think, call, raw_call, wait, drip, stop, cut, hang, fail"
        }),
        (
            "say: ${promt}",
            "5:14: `${promt}` is unknown; use prompt, answer, agent, path, turn, attempt, 1 to 99 or \
             repeat:TEXT:TIMES, or write `$${` for the characters themselves",
        ),
        (
            "call: { tool: view, input: { a: ['${'] } }",
            "5:42: `${` is not closed; write `}` after the name, or `$${` for the characters themselves",
        ),
        ("call: { tool: view, inputs: {} }", "5:29: unknown key `inputs`; known here: id, tool, input"),
        ("call: { input: {} }", "5:17: the key `tool` is missing; add it"),
        ("call: { tool: view, input: { n: .nan } }", "5:41: value `.nan` is not a finite number"),
        ("hang: false", "5:15: only `true` makes sense here; remove the step instead"),
        ("wait: 5", "5:15: `5` is not a duration; write 50ms, 2s, 5m or 1h"),
        ("stop: soon", "5:15: unknown value `soon`; known here: end, calls, length, refusal"),
        ("cut: true\n      - say: more", "4:7: nothing can follow `cut`; make it the last step of the answer"),
    ];
    for (text, message) in cases {
        check(&[(&step(text), message)]);
    }
}

#[test]
fn missing_script_file_is_named() {
    let error = ScriptModel::load("/nowhere/fix.yaml".as_ref()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the script /nowhere/fix.yaml: No such file or directory (os error 2)");
}
