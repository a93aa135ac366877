//! What waits for a decision, put to the client's permission callback.

use hooks::names;
use protocol::api::RuleChange;
use protocol::{Ask, Decision, HookDialect, PlanAction, RuleEffect, Subject};
use serde_json::{Value, json};

use super::frames::{questions, told};
use super::mode::Mode;
use super::rules;

/// What the client decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The decision.
    pub(super) decision: Decision,
    /// Whether the turn is to be broken off.
    pub(super) interrupts: bool,
    /// The mode that the session goes on in, if that is another.
    pub(super) mode: Option<Mode>,
    /// What becomes of the session's rules.
    pub(super) rules: Vec<RuleChange>,
}

impl Verdict {
    /// No, with words for the model.
    pub(super) fn no(words: impl Into<String>) -> Verdict {
        Verdict { decision: Decision::Deny { words: words.into() }, interrupts: false, mode: None, rules: Vec::new() }
    }
}

/// The request to the client. `agent` is who asks, if it is not the session's own agent.
pub(super) fn request(ask: &Ask, agent: Option<String>) -> Value {
    let (name, input) = subject(&ask.subject);
    let mut request = json!({
        "subtype": "can_use_tool", "tool_name": name, "display_name": name, "input": input,
        "permission_suggestions": [], "tool_use_id": ask.call,
    });
    if let Subject::Permission { reason, rules, .. } = &ask.subject {
        request["description"] = json!(reason);
        request["decision_reason"] = json!(reason);
        request["permission_suggestions"] = json!(rules.iter().map(|rule| suggestion(rule)).collect::<Vec<_>>());
    }
    if let Some(agent) = agent {
        request["agent_id"] = json!(agent);
    }
    request
}

/// What is asked about, as a call in the family's words.
fn subject(subject: &Subject) -> (String, Value) {
    match subject {
        Subject::Permission { tool, input, .. } => told(tool, input),
        Subject::Question { question, choices } => {
            let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
            ("AskUserQuestion".into(), questions(question, &choices))
        }
        Subject::Plan { summary, plan, .. } => {
            let plan = if plan.trim().is_empty() { summary } else { plan };
            ("ExitPlanMode".into(), json!({ "plan": plan }))
        }
    }
}

/// A rule that would allow the call, in the family's form.
fn suggestion(rule: &str) -> Value {
    let (tool, content) = match rule.split_once('(') {
        Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').unwrap_or(rest))),
        None => (rule, None),
    };
    let name = match tool {
        "read" => "Read",
        "fetch" => "WebFetch",
        other => names::told(other, HookDialect::Snake),
    };
    let mut entry = json!({ "toolName": name });
    if let Some(content) = content {
        entry["ruleContent"] = json!(content);
    }
    json!({ "type": "addRules", "rules": [entry], "behavior": "allow", "destination": "session" })
}

/// What the client's answer means.
pub(super) fn verdict(ask: &Ask, answer: &Value) -> Verdict {
    match answer["behavior"].as_str() {
        Some("allow") => allowed(ask, answer),
        Some("deny") => Verdict {
            decision: Decision::Deny { words: answer["message"].as_str().unwrap_or_default().to_owned() },
            interrupts: answer["interrupt"].as_bool().unwrap_or(false),
            mode: None,
            rules: rule_changes(updates(answer)),
        },
        _other => Verdict::no("the client's decision was not understood"),
    }
}

fn allowed(ask: &Ask, answer: &Value) -> Verdict {
    let updates = updates(answer);
    let mode = updates
        .iter()
        .filter(|update| update["type"] == "setMode")
        .find_map(|update| update["mode"].as_str().and_then(Mode::named));
    let decision = match &ask.subject {
        Subject::Permission { tool, .. } => {
            let (_, asked) = subject(&ask.subject);
            let changed = answer["updatedInput"].as_object().filter(|input| asked.as_object() != Some(input));
            let ours = |input: &serde_json::Map<String, Value>| {
                Value::Object(names::to_ours(tool, HookDialect::Snake, input.clone())).to_string()
            };
            Decision::Allow { rules: updates.iter().flat_map(granted).collect(), input: changed.map(ours) }
        }
        Subject::Question { question, .. } => match reply(question, &answer["updatedInput"]) {
            Some(text) => Decision::Reply { text },
            None => Decision::Deny { words: String::new() },
        },
        Subject::Plan { actions, .. } => {
            let action = if actions.contains(&PlanAction::Interactive) { Some(PlanAction::Interactive) } else { None };
            Decision::Proceed { action: action.or(actions.first().copied()).unwrap_or(PlanAction::ExitOnly) }
        }
    };
    Verdict { decision, interrupts: false, mode, rules: rule_changes(updates) }
}

fn updates(answer: &Value) -> &[Value] {
    answer["updatedPermissions"].as_array().map_or(&[][..], Vec::as_slice)
}

/// What updates change of the rules, wherever the client wants them kept: here they hold while the session is open. An
/// update that cannot be read to the letter is read on the safe side, as every rule of the client's is.
fn rule_changes(updates: &[Value]) -> Vec<RuleChange> {
    updates.iter().flat_map(rule_change).collect()
}

fn rule_change(update: &Value) -> Vec<RuleChange> {
    let effect = match update["behavior"].as_str() {
        Some("allow") => RuleEffect::Allow,
        Some("ask") => RuleEffect::Ask,
        Some("deny") => RuleEffect::Deny,
        _none => return Vec::new(),
    };
    let entries = update["rules"].as_array().map_or(&[][..], Vec::as_slice);
    let rules = entries.iter().filter_map(|entry| rules::rule(effect, &written(entry)?));
    match update["type"].as_str() {
        Some("addRules") => rules.map(|rule| RuleChange::Add { effect, rule }).collect(),
        Some("removeRules") => rules.map(|rule| RuleChange::Remove { effect, rule }).collect(),
        Some("replaceRules") => vec![RuleChange::Replace { effect, rules: rules.collect() }],
        _other => Vec::new(),
    }
}

/// A rule as the family writes it.
fn written(entry: &Value) -> Option<String> {
    let name = entry["toolName"].as_str()?;
    Some(match entry["ruleContent"].as_str() {
        Some(content) => format!("{name}({content})"),
        None => name.to_owned(),
    })
}

/// The rules of an update that allows more from now on.
fn granted(update: &Value) -> Vec<String> {
    let adds = matches!(update["type"].as_str(), Some("addRules" | "replaceRules")) && update["behavior"] == "allow";
    let entries = update["rules"].as_array().filter(|_| adds).map_or(&[][..], Vec::as_slice);
    entries.iter().filter_map(|entry| rules::rule(RuleEffect::Allow, &written(entry)?)).collect()
}

/// The answer to a question: under the question's own words, or the only one there is.
fn reply(question: &str, input: &Value) -> Option<String> {
    let answers = input["answers"].as_object()?;
    let answer = answers.get(question).or_else(|| answers.values().next())?;
    match answer {
        Value::String(text) => Some(text.clone()),
        Value::Array(several) => Some(several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use protocol::{AskId, CallId};

    use super::*;

    fn ask(subject: Subject) -> Ask {
        Ask { id: AskId("a".into()), call: CallId("c".into()), subject, until_at: None }
    }

    fn shell() -> Ask {
        ask(Subject::Permission {
            tool: "shell".into(),
            input: r#"{"command":"git push","timeout_secs":2}"#.into(),
            reason: "no rule".into(),
            rules: vec!["shell(git push *)".into()],
        })
    }

    #[test]
    fn d2_a_call_is_put_to_the_client_in_its_words_with_a_suggestion() {
        let request = request(&shell(), Some("task-1".into()));
        assert_eq!((&request["tool_name"], &request["input"]["timeout"]), (&json!("Bash"), &json!(2000)));
        let rule = json!({ "toolName": "Bash", "ruleContent": "git push *" });
        assert_eq!(request["permission_suggestions"][0]["rules"][0], rule);
        assert_eq!(request["agent_id"], "task-1");
    }

    #[test]
    fn d2_the_client_allows_as_it_is_changes_the_call_or_grants_a_rule() {
        let same = json!({ "command": "git push", "timeout": 2000 });
        let plain = verdict(&shell(), &json!({ "behavior": "allow", "updatedInput": same }));
        assert_eq!(plain.decision, Decision::Allow { rules: Vec::new(), input: None });
        let changed =
            verdict(&shell(), &json!({ "behavior": "allow", "updatedInput": { "command": "ls", "timeout": 5000 } }));
        let Decision::Allow { input: Some(input), .. } = changed.decision else { panic!("{changed:?}") };
        assert_eq!(serde_json::from_str::<Value>(&input).unwrap(), json!({ "command": "ls", "timeout_secs": 5 }));
        let updates = json!([
            { "type": "setMode", "mode": "acceptEdits", "destination": "session" },
            { "type": "addRules", "behavior": "allow", "rules": [{ "toolName": "Bash", "ruleContent": "git *" }] },
        ]);
        let granted = verdict(&shell(), &json!({ "behavior": "allow", "updatedPermissions": updates }));
        assert_eq!(granted.decision, Decision::Allow { rules: vec!["shell(git *)".into()], input: None });
        assert_eq!(granted.mode, Some(Mode::AcceptEdits));
    }

    #[test]
    fn d2_the_client_denies_with_words_and_may_end_the_turn() {
        let answer = json!({ "behavior": "deny", "message": "no", "interrupt": true });
        let denied = verdict(&shell(), &answer);
        assert_eq!((denied.decision, denied.interrupts), (Decision::Deny { words: "no".into() }, true));
        for odd in [json!(null), json!({}), json!({ "behavior": 7 }), json!([1])] {
            assert!(matches!(verdict(&shell(), &odd).decision, Decision::Deny { .. }));
        }
    }

    #[test]
    fn d2_questions_and_plans_are_calls_too() {
        let question = ask(Subject::Question { question: "Which?".into(), choices: vec!["a".into(), "b".into()] });
        assert_eq!(request(&question, None)["tool_name"], "AskUserQuestion");
        let answer = json!({ "behavior": "allow", "updatedInput": { "answers": { "Which?": "b" } } });
        assert_eq!(verdict(&question, &answer).decision, Decision::Reply { text: "b".into() });
        let plan = ask(Subject::Plan {
            summary: "s".into(),
            plan: "p".into(),
            actions: PlanAction::ALL.to_vec(),
            recommended: PlanAction::Autopilot,
            otherwise: PlanAction::ExitOnly,
        });
        assert_eq!(request(&plan, None)["input"]["plan"], "p");
        let decision = verdict(&plan, &json!({ "behavior": "allow" })).decision;
        assert_eq!(decision, Decision::Proceed { action: PlanAction::Interactive });
    }
}
