//! Parses a hook's output in either dialect.

use protocol::{HookDialect, HookEvent, RuleEffect};
use serde_json::{Map, Value};

use crate::run::HookRunError;
use crate::{HookEventData, HookVerdict, McpRequestMeta, RuleUpdate, RuleUpdateKind, Ruling};
use crate::{answer_scanner, tool_names};

/// Maximum length of one text from a hook to an agent, in bytes.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Parses the output of a hook that succeeded: every answer in it counts. Text that is not JSON is context on events
/// where Claude treats it so, and is otherwise ignored.
pub(crate) fn parse_output(
    output: &str,
    event: HookEvent,
    dialect: HookDialect,
    data: &HookEventData,
) -> Result<HookVerdict, HookRunError> {
    let text = output.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok(HookVerdict::default());
    }
    if !text.starts_with('{') && accepts_plain_text(event) {
        let context = if dialect == HookDialect::Snake { vec![clip_text(text)] } else { Vec::new() };
        return Ok(HookVerdict { context, ..HookVerdict::default() });
    }
    let mut verdict = HookVerdict::default();
    for answer in answer_scanner::find_answers(text)? {
        verdict.merge(parse_answer(&answer, event, dialect, data)?);
    }
    Ok(verdict)
}

/// Whether a hook on such an event is a guard, so that an answer that cannot be parsed means a denial.
pub(crate) fn is_guard(event: HookEvent) -> bool {
    matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest)
}

fn parse_answer(
    answer: &Map<String, Value>,
    event: HookEvent,
    dialect: HookDialect,
    data: &HookEventData,
) -> Result<HookVerdict, HookRunError> {
    let specific = match answer.get("hookSpecificOutput") {
        Some(Value::Object(specific)) => specific,
        Some(other) => return Err(invalid_value("hookSpecificOutput", other)),
        None => answer,
    };
    let fields = AnswerFields { answer, specific };
    Ok(HookVerdict {
        ruling: fields.ruling(event)?,
        updated_input: fields.updated_input(dialect, data)?,
        replacement_text: fields.replacement_text(event)?,
        halt_reason: fields.halt_reason(event)?,
        mcp_meta: fields.mcp_meta(event)?,
        context: fields.context(event)?,
        messages: fields.text("systemMessage")?.into_iter().collect(),
        rules: fields.rule_updates(event),
        client_allows: false,
    })
}

fn accepts_plain_text(event: HookEvent) -> bool {
    matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmitted | HookEvent::SubagentStart)
}

pub(crate) fn is_stop_event(event: HookEvent) -> bool {
    matches!(event, HookEvent::SubagentStop | HookEvent::AgentStop)
}

struct AnswerFields<'a> {
    answer: &'a Map<String, Value>,
    /// Its `hookSpecificOutput`, which takes precedence; the answer itself if it has none.
    specific: &'a Map<String, Value>,
}

impl AnswerFields<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.specific.get(name).or_else(|| self.answer.get(name)).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<Option<String>, HookRunError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(clip_text(text)).filter(|text| !text.trim().is_empty())),
            Some(other) => Err(invalid_value(name, other)),
        }
    }

    fn ruling(&self, event: HookEvent) -> Result<Ruling, HookRunError> {
        let ruling = match (self.get("permissionDecision"), self.get("decision"), self.get("behavior")) {
            (Some(decision), _, _) => self.parse_ruling("permissionDecision", decision, "permissionDecisionReason")?,
            (None, Some(Value::Object(decision)), _) => {
                AnswerFields { answer: decision, specific: decision }.parse_ruling_field("behavior", "message")?
            }
            (None, Some(decision), _) => self.parse_ruling("decision", decision, "reason")?,
            (None, None, Some(behavior)) => self.parse_ruling("behavior", behavior, "message")?,
            (None, None, None) => Ruling::Nothing,
        };
        match self.get("continue") {
            Some(Value::Bool(false)) if is_stop_event(event) => Ok(Ruling::Allow),
            Some(Value::Bool(false)) => Ok(Ruling::Deny { reason: self.reason("stopReason")? }),
            Some(Value::Bool(true)) | None => Ok(ruling),
            Some(other) => Err(invalid_value("continue", other)),
        }
    }

    fn parse_ruling_field(&self, name: &str, reason: &str) -> Result<Ruling, HookRunError> {
        match self.get(name) {
            Some(decision) => self.parse_ruling(name, decision, reason),
            None => Err(HookRunError::Json(format!("`decision` has no `{name}`"))),
        }
    }

    fn parse_ruling(&self, name: &str, decision: &Value, reason: &str) -> Result<Ruling, HookRunError> {
        match decision.as_str() {
            Some("allow" | "approve") => Ok(Ruling::Allow),
            Some("deny" | "block") => Ok(Ruling::Deny { reason: self.reason(reason)? }),
            Some("ask") => Ok(Ruling::Ask { reason: self.reason(reason)? }),
            Some("defer") => Ok(Ruling::Nothing),
            // An unknown value may have been meant as a denial.
            Some(_) | None => Err(invalid_value(name, decision)),
        }
    }

    fn reason(&self, name: &str) -> Result<String, HookRunError> {
        let reason_text = match self.text(name)? {
            Some(reason) => Some(reason),
            None => self.text("reason")?,
        };
        Ok(reason_text.unwrap_or_else(|| "it gave no reason".into()))
    }

    fn updated_input(
        &self,
        dialect: HookDialect,
        data: &HookEventData,
    ) -> Result<Option<Map<String, Value>>, HookRunError> {
        let HookEventData::PreTool(call) = data else { return Ok(None) };
        match self.get("updatedInput").or_else(|| self.get("modifiedArgs")) {
            None => Ok(None),
            Some(Value::Object(input)) => Ok(Some(tool_names::args_from_dialect(&call.tool, dialect, input.clone()))),
            Some(other) => Err(invalid_value("updatedInput", other)),
        }
    }

    /// Changes of the session's rules, if the hook decides whether a call may run. An update that cannot be parsed is
    /// skipped: the decision next to it still counts.
    fn rule_updates(&self, event: HookEvent) -> Vec<RuleUpdate> {
        if event != HookEvent::PermissionRequest {
            return Vec::new();
        }
        let decision = self.get("decision").and_then(Value::as_object);
        let updates = decision.and_then(|decision| decision.get("updatedPermissions"));
        let updates = updates.or_else(|| self.get("updatedPermissions")).and_then(Value::as_array);
        updates.into_iter().flatten().filter_map(parse_update).collect()
    }

    fn replacement_text(&self, event: HookEvent) -> Result<Option<String>, HookRunError> {
        match event {
            HookEvent::UserPromptSubmitted => self.text("modifiedPrompt"),
            HookEvent::UserPromptTransformed => self.text("modifiedTransformedPrompt"),
            HookEvent::PostToolUse => Ok(self.replacement_result()),
            HookEvent::SessionStart
            | HookEvent::SessionEnd
            | HookEvent::PreToolUse
            | HookEvent::PreMcpToolCall
            | HookEvent::PostToolUseFailure
            | HookEvent::PermissionRequest
            | HookEvent::PermissionDenied
            | HookEvent::SubagentStart
            | HookEvent::SubagentStop
            | HookEvent::AgentStop
            | HookEvent::PreCompact
            | HookEvent::Notification
            | HookEvent::ErrorOccurred
            | HookEvent::TaskCreated
            | HookEvent::TaskCompleted
            | HookEvent::TeammateIdle => Ok(None),
        }
    }

    /// What the server gets with a call; `null` means nothing.
    fn mcp_meta(&self, event: HookEvent) -> Result<Option<McpRequestMeta>, HookRunError> {
        const NAME: &str = "metaToUse";
        match self.specific.get(NAME).or_else(|| self.answer.get(NAME)) {
            None => Ok(None),
            Some(_) if event != HookEvent::PreMcpToolCall => Ok(None),
            Some(Value::Null) => Ok(Some(McpRequestMeta::Omitted)),
            Some(Value::Object(meta)) => Ok(Some(McpRequestMeta::Replaced(meta.clone()))),
            Some(other) => Err(invalid_value(NAME, other)),
        }
    }

    /// The replacement for a tool's result, in any form: a hook that hides something must not fail because of the form
    /// of the rest. An empty result is valid too.
    fn replacement_result(&self) -> Option<String> {
        let names = ["modifiedResult", "updatedToolOutput", "updatedMCPToolOutput"];
        names.into_iter().find_map(|name| self.get(name)).map(result_text)
    }

    /// Why the agent must stop, if a hook on one of its calls says so.
    fn halt_reason(&self, event: HookEvent) -> Result<Option<String>, HookRunError> {
        let is_call = matches!(
            event,
            HookEvent::PreToolUse
                | HookEvent::PostToolUse
                | HookEvent::PostToolUseFailure
                | HookEvent::PermissionRequest
                | HookEvent::PermissionDenied
        );
        match self.get("continue") {
            Some(Value::Bool(false)) if is_call => self.reason("stopReason").map(Some),
            _other => Ok(None),
        }
    }

    /// Context for the agent. A denial of something that already happened becomes context.
    fn context(&self, event: HookEvent) -> Result<Vec<String>, HookRunError> {
        let mut context: Vec<String> = self.text("additionalContext")?.into_iter().collect();
        let is_past = matches!(event, HookEvent::PostToolUse | HookEvent::PostToolUseFailure);
        if let Ruling::Deny { reason } = self.ruling(event)?
            && is_past
        {
            context.push(reason);
        }
        Ok(context)
    }
}

fn parse_update(update: &Value) -> Option<RuleUpdate> {
    let change = match update["type"].as_str()? {
        "addRules" => RuleUpdateKind::Add,
        "removeRules" => RuleUpdateKind::Remove,
        "replaceRules" => RuleUpdateKind::Replace,
        _other => return None,
    };
    let effect = match update["behavior"].as_str()? {
        "allow" => RuleEffect::Allow,
        "ask" => RuleEffect::Ask,
        "deny" => RuleEffect::Deny,
        _other => return None,
    };
    let rule = |entry: &Value| {
        let tool = entry["toolName"].as_str()?;
        Some(match entry["ruleContent"].as_str() {
            Some(content) => format!("{tool}({content})"),
            None => tool.to_owned(),
        })
    };
    let rules = update["rules"].as_array()?.iter().filter_map(rule).collect();
    Some(RuleUpdate { change, effect, rules })
}

/// The text of a tool's result: a string, content blocks, or the output of a command or content of a file; for anything
/// else, its JSON. The caller clips it.
fn result_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(result_text).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) if fields.contains_key("textResultForLlm") => result_text(&fields["textResultForLlm"]),
        Value::Object(fields) => {
            let known = ["content", "stdout", "stderr", "text", "file", "error"];
            let parts: Vec<String> = known.iter().filter_map(|name| fields.get(*name)).map(result_text).collect();
            match parts.is_empty() {
                true => value.to_string(),
                false => parts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
            }
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Clips a text for an agent.
pub(crate) fn clip_text(text: &str) -> String {
    protocol::clip_middle(text, MAX_TEXT_BYTES)
}

fn invalid_value(name: &str, value: &Value) -> HookRunError {
    HookRunError::Json(format!("`{name}` cannot be {}", protocol::clip_middle(&value.to_string(), 100)))
}

#[cfg(test)]
mod tests {
    use protocol::CallId;
    use serde_json::json;

    use super::*;
    use crate::McpToolUse;

    #[test]
    fn a_hook_chooses_what_a_server_gets_with_a_call() {
        let call = HookEventData::PreMcp(McpToolUse {
            id: CallId("c1".into()),
            tool: "mcp__docs__find".into(),
            server: "docs".into(),
            server_tool: "find".into(),
            arguments: json!({}),
        });
        let meta = |output: &str| {
            parse_output(output, HookEvent::PreMcpToolCall, HookDialect::Camel, &call).map(|verdict| verdict.mcp_meta)
        };
        let replaced = json!({ "a": 1 }).as_object().cloned().unwrap();
        assert_eq!(meta(r#"{"metaToUse":{"a":1}}"#).unwrap(), Some(McpRequestMeta::Replaced(replaced)));
        assert_eq!(meta(r#"{"metaToUse":null}"#).unwrap(), Some(McpRequestMeta::Omitted));
        assert_eq!(meta("{}").unwrap(), None);
        assert!(meta(r#"{"metaToUse":7}"#).is_err());
    }

    #[test]
    fn a_hook_changes_what_the_model_reads_of_a_prompt() {
        let data = HookEventData::TransformedPrompt { prompt: "a".into(), transformed: "a".into() };
        let output = r#"{"modifiedTransformedPrompt":"b","modifiedPrompt":"c"}"#;
        let verdict = parse_output(output, HookEvent::UserPromptTransformed, HookDialect::Camel, &data).unwrap();
        assert_eq!(verdict.replacement_text.as_deref(), Some("b"));
    }
}
