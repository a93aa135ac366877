//! Scripts that several tests run.

use serde_json::{Value, json};

/// One answer, without tools.
pub(crate) const HELLO: &str = "
version: 1
rules:
  - answer:
      - say: Hello.
";

/// Counts its steps and never ends, with a thousand tokens per turn.
pub(crate) const ENDLESS: &str = "
version: 1
rules:
  - answer:
      - say: Step ${turn}.
      - call: { tool: report_intent, input: { intent: step } }
    usage: { input: 900, output: 100 }
";

/// One turn of shell calls with these inputs, then the text of the last answer.
pub(crate) fn shells(inputs: &[Value]) -> String {
    let call = |input: &Value| json!({ "call": { "tool": "shell", "input": input } });
    let calls: Vec<Value> = inputs.iter().map(call).collect();
    let rules = json!([
        { "when": { "turn": 1 }, "answer": calls },
        { "answer": [{ "say": "It said: ${answer}" }] },
    ]);
    json!({ "version": 1, "rules": rules }).to_string()
}

/// One shell command, then its output.
pub(crate) fn shell(command: &str) -> String {
    shells(&[json!({ "command": command })])
}

/// This many turns in total; each but the last reports its intent.
pub(crate) fn turns(count: u32) -> String {
    let intent = json!({ "call": { "tool": "report_intent", "input": { "intent": "step ${turn}" } } });
    let rules = json!([
        { "when": { "turn": format!("..{}", count - 1) }, "answer": [intent] },
        { "answer": [{ "say": "Done." }] },
    ]);
    json!({ "version": 1, "rules": rules }).to_string()
}
