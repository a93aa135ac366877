//! Asks as requests to the client's permission callback.

use hooks::tool_names;
use protocol::api::RuleChange;
use protocol::{Ask, AskDecision, AskSubject, HookDialect, PlanAction, RuleEffect, rule_family, tool_name};
use serde_json::{Value, json};

use super::frames::{client_tool_call, questions_input};
use super::mode::ClaudePermissionMode;
use super::rules;

/// The client's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClientDecision {
    /// The decision.
    pub(super) decision: AskDecision,
    /// Whether to interrupt the turn.
    pub(super) interrupts: bool,
    /// The new permission mode, if it changes.
    pub(super) mode: Option<ClaudePermissionMode>,
    /// Changes to the session's rules.
    pub(super) rules: Vec<RuleChange>,
}

impl ClientDecision {
    /// Denies the call, with a message for the model.
    pub(super) fn deny(message: impl Into<String>) -> ClientDecision {
        ClientDecision {
            decision: AskDecision::Deny { message: message.into() },
            interrupts: false,
            mode: None,
            rules: Vec::new(),
        }
    }
}

/// The request to the client. `agent` is the agent that made the call, if it is not the root.
pub(super) fn permission_request(ask: &Ask, agent: Option<String>) -> Value {
    let (name, input) = subject_as_call(&ask.subject);
    let mut request = json!({
        "subtype": "can_use_tool", "tool_name": name, "display_name": name, "input": input,
        "permission_suggestions": [], "tool_use_id": ask.call,
    });
    if let AskSubject::Permission { reason, rules, .. } = &ask.subject {
        request["description"] = json!(reason);
        request["decision_reason"] = json!(reason);
        request["permission_suggestions"] = json!(rules.iter().map(|rule| suggestion(rule)).collect::<Vec<_>>());
    }
    if let Some(agent) = agent {
        request["agent_id"] = json!(agent);
    }
    request
}

/// The subject of the ask, as a call in the Claude SDK's terms.
fn subject_as_call(subject: &AskSubject) -> (String, Value) {
    match subject {
        AskSubject::Permission { tool, input, .. } => client_tool_call(tool, input),
        AskSubject::Question { question, choices } => {
            let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
            (claude_name(tool_name::ASK_USER), questions_input(question, &choices))
        }
        AskSubject::Plan { summary, plan, .. } => {
            let plan = if plan.trim().is_empty() { summary } else { plan };
            (claude_name(tool_name::EXIT_PLAN_MODE), json!({ "plan": plan }))
        }
    }
}

fn claude_name(tool: &str) -> String {
    tool_names::dialect_tool_name(tool, HookDialect::Snake).to_owned()
}

/// A rule that would allow the call, in the Claude SDK's format.
fn suggestion(rule: &str) -> Value {
    let (tool, content) = match rule.split_once('(') {
        Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').unwrap_or(rest))),
        None => (rule, None),
    };
    let family = rule_family(tool).and_then(|family| family.claude.first());
    let mut entry = json!({ "toolName": family.map_or_else(|| claude_name(tool), |&name| name.to_owned()) });
    if let Some(content) = content {
        entry["ruleContent"] = json!(content);
    }
    json!({ "type": "addRules", "rules": [entry], "behavior": "allow", "destination": "session" })
}

/// Reads the client's answer.
pub(super) fn read_decision(ask: &Ask, answer: &Value) -> ClientDecision {
    match answer["behavior"].as_str() {
        Some("allow") => read_allow(ask, answer),
        Some("deny") => ClientDecision {
            decision: AskDecision::Deny { message: answer["message"].as_str().unwrap_or_default().to_owned() },
            interrupts: answer["interrupt"].as_bool().unwrap_or(false),
            mode: None,
            rules: rule_changes(permission_updates(answer)),
        },
        _other => ClientDecision::deny("the client's decision is not valid"),
    }
}

fn read_allow(ask: &Ask, answer: &Value) -> ClientDecision {
    let updates = permission_updates(answer);
    let mode = updates
        .iter()
        .filter(|update| update["type"] == "setMode")
        .find_map(|update| update["mode"].as_str().and_then(ClaudePermissionMode::parse));
    let decision = match &ask.subject {
        AskSubject::Permission { tool, .. } => {
            let (_, original) = subject_as_call(&ask.subject);
            let changed = answer["updatedInput"].as_object().filter(|input| original.as_object() != Some(input));
            let translated = |input: &serde_json::Map<String, Value>| {
                Value::Object(tool_names::args_from_dialect(tool, HookDialect::Snake, input.clone())).to_string()
            };
            AskDecision::Allow {
                rules: updates.iter().flat_map(granted_rules).collect(),
                input: changed.map(translated),
            }
        }
        AskSubject::Question { question, .. } => match reply(question, &answer["updatedInput"]) {
            Some(text) => AskDecision::Reply { text },
            None => AskDecision::Deny { message: String::new() },
        },
        AskSubject::Plan { actions, .. } => {
            let action = if actions.contains(&PlanAction::Interactive) { Some(PlanAction::Interactive) } else { None };
            AskDecision::Proceed { action: action.or(actions.first().copied()).unwrap_or(PlanAction::ExitOnly) }
        }
    };
    ClientDecision { decision, interrupts: false, mode, rules: rule_changes(updates) }
}

fn permission_updates(answer: &Value) -> &[Value] {
    answer["updatedPermissions"].as_array().map_or(&[][..], Vec::as_slice)
}

/// The rule changes of updates. They apply while the session is open, regardless of their destination. An update that
/// cannot be translated exactly becomes stricter, like every rule of the client.
fn rule_changes(updates: &[Value]) -> Vec<RuleChange> {
    updates.iter().flat_map(rule_change).collect()
}

fn rule_change(update: &Value) -> Vec<RuleChange> {
    let folders = folder_rules(update);
    match update["type"].as_str() {
        Some("addDirectories") => {
            return folders.map(|rule| RuleChange::Add { effect: RuleEffect::Allow, rule }).collect();
        }
        Some("removeDirectories") => {
            return folders.map(|rule| RuleChange::Remove { effect: RuleEffect::Allow, rule }).collect();
        }
        _rules => {}
    }
    let effect = match update["behavior"].as_str() {
        Some("allow") => RuleEffect::Allow,
        Some("ask") => RuleEffect::Ask,
        Some("deny") => RuleEffect::Deny,
        _none => return Vec::new(),
    };
    let entries = update["rules"].as_array().map_or(&[][..], Vec::as_slice);
    let rules = entries.iter().filter_map(|entry| rules::translate_rule(effect, &rule_text(entry)?));
    match update["type"].as_str() {
        Some("addRules") => rules.map(|rule| RuleChange::Add { effect, rule }).collect(),
        Some("removeRules") => rules.map(|rule| RuleChange::Remove { effect, rule }).collect(),
        Some("replaceRules") => vec![RuleChange::Replace { effect, rules: rules.collect() }],
        _other => Vec::new(),
    }
}

/// The rules that allow reading the folders of an update. Changes of files there are asked about as before. A folder
/// whose path is not absolute, or would be a pattern, is left out.
fn folder_rules(update: &Value) -> impl Iterator<Item = String> {
    let folders = update["directories"].as_array().map_or(&[][..], Vec::as_slice);
    let folders = folders.iter().filter_map(Value::as_str);
    let folders = folders.filter(|folder| {
        let is_plain = folder.starts_with('/') && !folder.contains(['*', '?', '[', ']', '{', '}', '(', ')', '\\']);
        if !is_plain {
            tracing::warn!(folder, "the folder of a permission update is not added");
        }
        is_plain
    });
    folders
        .map(|folder| folder.trim_end_matches('/'))
        .flat_map(|top| [format!("read({top})"), format!("read({top}/**)")])
}

/// A rule in the Claude SDK's syntax.
fn rule_text(entry: &Value) -> Option<String> {
    let name = entry["toolName"].as_str()?;
    Some(match entry["ruleContent"].as_str() {
        Some(content) => format!("{name}({content})"),
        None => name.to_owned(),
    })
}

/// The rules of an update that adds permissions.
fn granted_rules(update: &Value) -> Vec<String> {
    let adds = matches!(update["type"].as_str(), Some("addRules" | "replaceRules")) && update["behavior"] == "allow";
    let entries = update["rules"].as_array().filter(|_| adds).map_or(&[][..], Vec::as_slice);
    entries.iter().filter_map(|entry| rules::translate_rule(RuleEffect::Allow, &rule_text(entry)?)).collect()
}

/// The answer to a question: the one under the question's text, or the first one.
fn reply(question: &str, input: &Value) -> Option<String> {
    let answers = input["answers"].as_object()?;
    let answer = answers.get(question).or_else(|| answers.values().next())?;
    match answer {
        Value::String(text) => Some(text.clone()),
        Value::Array(texts) => Some(texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use protocol::{AskId, CallId};

    use super::*;

    fn ask(subject: AskSubject) -> Ask {
        Ask { id: AskId("a".into()), call: CallId("c".into()), subject, until_at: None }
    }

    fn shell() -> Ask {
        ask(AskSubject::Permission {
            tool: "shell".into(),
            input: r#"{"command":"git push","timeout_secs":2}"#.into(),
            reason: "no rule".into(),
            rules: vec!["shell(git push *)".into()],
        })
    }

    #[test]
    fn requests_use_claude_names_and_suggest_a_rule() {
        let request = permission_request(&shell(), Some("task-1".into()));
        assert_eq!((&request["tool_name"], &request["input"]["timeout"]), (&json!("Bash"), &json!(2000)));
        let rule = json!({ "toolName": "Bash", "ruleContent": "git push *" });
        assert_eq!(request["permission_suggestions"][0]["rules"][0], rule);
        assert_eq!(request["agent_id"], "task-1");
    }

    #[test]
    fn client_can_allow_change_the_input_or_grant_a_rule() {
        let same = json!({ "command": "git push", "timeout": 2000 });
        let plain = read_decision(&shell(), &json!({ "behavior": "allow", "updatedInput": same }));
        assert_eq!(plain.decision, AskDecision::Allow { rules: Vec::new(), input: None });
        let changed = read_decision(
            &shell(),
            &json!({ "behavior": "allow", "updatedInput": { "command": "ls", "timeout": 5000 } }),
        );
        let AskDecision::Allow { input: Some(input), .. } = changed.decision else { panic!("{changed:?}") };
        assert_eq!(serde_json::from_str::<Value>(&input).unwrap(), json!({ "command": "ls", "timeout_secs": 5 }));
        let updates = json!([
            { "type": "setMode", "mode": "acceptEdits", "destination": "session" },
            { "type": "addRules", "behavior": "allow", "rules": [{ "toolName": "Bash", "ruleContent": "git *" }] },
        ]);
        let granted = read_decision(&shell(), &json!({ "behavior": "allow", "updatedPermissions": updates }));
        assert_eq!(granted.decision, AskDecision::Allow { rules: vec!["shell(git *)".into()], input: None });
        assert_eq!(granted.mode, Some(ClaudePermissionMode::AcceptEdits));
    }

    #[test]
    fn every_kind_of_permission_update_is_translated() {
        let rule = json!([{ "toolName": "Bash", "ruleContent": "git *" }]);
        let add = |effect, rule: &str| RuleChange::Add { effect, rule: rule.into() };
        let remove = |effect, rule: &str| RuleChange::Remove { effect, rule: rule.into() };
        let folders = json!(["/data/", "relative", "/with*"]);
        let data = ["read(/data)", "read(/data/**)"];
        let allow = RuleEffect::Allow;
        let cases = [
            (
                json!({ "type": "addRules", "behavior": "deny", "rules": rule }),
                vec![add(RuleEffect::Deny, "shell(git *)")],
            ),
            (
                json!({ "type": "removeRules", "behavior": "ask", "rules": rule }),
                vec![remove(RuleEffect::Ask, "shell(git *)")],
            ),
            (
                json!({ "type": "replaceRules", "behavior": "deny", "rules": rule }),
                vec![RuleChange::Replace { effect: RuleEffect::Deny, rules: vec!["shell(git *)".into()] }],
            ),
            (json!({ "type": "addDirectories", "directories": folders }), data.map(|rule| add(allow, rule)).to_vec()),
            (
                json!({ "type": "removeDirectories", "directories": folders }),
                data.map(|rule| remove(allow, rule)).to_vec(),
            ),
        ];
        for (update, expected) in cases {
            let decision = read_decision(&shell(), &json!({ "behavior": "allow", "updatedPermissions": [update] }));
            assert_eq!(decision.rules, expected);
        }
        let mode = json!([{ "type": "setMode", "mode": "plan" }]);
        let decision = read_decision(&shell(), &json!({ "behavior": "allow", "updatedPermissions": mode }));
        assert_eq!((decision.mode, decision.rules), (Some(ClaudePermissionMode::Plan), Vec::new()));
    }

    #[test]
    fn client_can_deny_with_a_message_and_interrupt() {
        let answer = json!({ "behavior": "deny", "message": "no", "interrupt": true });
        let denied = read_decision(&shell(), &answer);
        assert_eq!((denied.decision, denied.interrupts), (AskDecision::Deny { message: "no".into() }, true));
        for invalid in [json!(null), json!({}), json!({ "behavior": 7 }), json!([1])] {
            assert!(matches!(read_decision(&shell(), &invalid).decision, AskDecision::Deny { .. }));
        }
    }

    #[test]
    fn questions_and_plans_are_requested_as_calls() {
        let question = ask(AskSubject::Question { question: "Which?".into(), choices: vec!["a".into(), "b".into()] });
        assert_eq!(permission_request(&question, None)["tool_name"], "AskUserQuestion");
        let answer = json!({ "behavior": "allow", "updatedInput": { "answers": { "Which?": "b" } } });
        assert_eq!(read_decision(&question, &answer).decision, AskDecision::Reply { text: "b".into() });
        let plan = ask(AskSubject::Plan {
            summary: "s".into(),
            plan: "p".into(),
            actions: PlanAction::ALL.to_vec(),
            recommended: PlanAction::Autopilot,
            default_action: PlanAction::ExitOnly,
        });
        assert_eq!(permission_request(&plan, None)["input"]["plan"], "p");
        let decision = read_decision(&plan, &json!({ "behavior": "allow" })).decision;
        assert_eq!(decision, AskDecision::Proceed { action: PlanAction::Interactive });
    }
}
