//! The input of a hook: the fields of its dialect, and under `bosun` the exact ids.

use protocol::{HookDialect, HookEvent, ListName, PermissionMode};
use serde_json::{Map, Value, json};

use crate::{HookContext, HookEventData, HookItem, ToolUse, event, tool_names};

/// Maximum length of one text in a payload, in bytes; the transcript has the full text.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The payload of an event in a dialect.
pub(crate) fn payload(data: &HookEventData, event: HookEvent, context: &HookContext, dialect: HookDialect) -> Value {
    let mut fields = PayloadFields { dialect, map: Map::new() };
    fields.add_common_fields(event, context);
    fields.add_agent_fields(context);
    fields.add_event_fields(data, context);
    fields.map.insert("bosun".into(), bosun_ids(event, context));
    Value::Object(fields.map)
}

fn bosun_ids(event: HookEvent, context: &HookContext) -> Value {
    json!({
        "event": event::event_name(event, HookDialect::Camel),
        "session": context.session.to_string(),
        "agent": context.agent.to_string(),
        "parent": context.parent.map(|parent| parent.to_string()),
        "type": context.definition,
        "path": context.path,
        "depth": context.depth,
        "activation": context.activation.0,
        "attempt": context.attempt.0,
        "sequence": context.sequence,
    })
}

struct PayloadFields {
    dialect: HookDialect,
    map: Map<String, Value>,
}

impl PayloadFields {
    fn put(&mut self, camel: &str, snake: &str, value: impl Into<Value>) {
        let name = match self.dialect {
            HookDialect::Camel => camel,
            HookDialect::Snake => snake,
        };
        self.map.insert(name.into(), value.into());
    }

    fn add_common_fields(&mut self, event: HookEvent, context: &HookContext) {
        self.put("sessionId", "session_id", context.session.to_string());
        self.put("hookEventName", "hook_event_name", event::event_name(event, self.dialect));
        self.put("transcriptPath", "transcript_path", context.transcript.clone());
        self.put("timestamp", "timestamp", context.occurred_at.0);
        self.put("cwd", "cwd", context.cwd.clone());
        self.put("permissionMode", "permission_mode", mode_name(context.mode, self.dialect));
    }

    /// Both dialects name the agent only if it is not the root.
    fn add_agent_fields(&mut self, context: &HookContext) {
        let Some(parent) = context.parent else { return };
        self.put("agentId", "agent_id", context.agent.to_string());
        self.put("agentType", "agent_type", context.definition.clone());
        self.put("agentName", "agent_name", context.name.clone());
        self.put("agentDisplayName", "agent_display_name", context.name.clone());
        self.put("agentDescription", "agent_description", context.description.clone());
        self.put("parentAgentId", "parent_agent_id", parent.to_string());
    }

    fn add_event_fields(&mut self, data: &HookEventData, context: &HookContext) {
        if let Some(call) = data.call() {
            self.add_call_fields(call);
        }
        match data {
            HookEventData::SessionStart(origin) => {
                let names = origin.source_names();
                let name = match self.dialect {
                    HookDialect::Camel => names.first(),
                    HookDialect::Snake => names.last(),
                };
                self.put("source", "source", name.copied().unwrap_or_default());
            }
            HookEventData::SessionEnd { reason } => self.put("reason", "reason", reason.clone()),
            HookEventData::Prompt { prompt } => self.put("prompt", "prompt", clipped(prompt)),
            HookEventData::TransformedPrompt { prompt, transformed } => {
                self.put("prompt", "prompt", clipped(prompt));
                self.put("transformedPrompt", "transformed_prompt", clipped(transformed));
            }
            HookEventData::PreMcp(call) => {
                self.put("toolCallId", "tool_use_id", call.id.0.clone());
                self.put("serverName", "server_name", call.server.clone());
                self.put("toolName", "tool_name", call.server_tool.clone());
                self.put("arguments", "arguments", call.arguments.clone());
            }
            HookEventData::PostTool { answer, .. } => {
                let camel = json!({ "resultType": "success", "textResultForLlm": clipped(answer) });
                match self.dialect {
                    HookDialect::Camel => self.put("toolResult", "", camel),
                    HookDialect::Snake => self.put("", "tool_response", clipped(answer)),
                }
            }
            HookEventData::ToolFailed { error, .. } => self.put("error", "error", clipped(error)),
            HookEventData::PermissionRequest { reason, .. } | HookEventData::PermissionDenied { reason, .. } => {
                self.put("reason", "reason", clipped(reason));
            }
            HookEventData::AgentStop { reason, last_message, is_repeated } => {
                self.add_stop_fields(reason, last_message, *is_repeated, context)
            }
            HookEventData::Item { item, .. } => self.add_item_fields(item),
            HookEventData::Compact(cause) => self.put("trigger", "trigger", cause.trigger()),
            HookEventData::Error { what, message } => {
                let camel = json!({ "name": what, "message": clipped(message) });
                match self.dialect {
                    HookDialect::Camel => self.put("error", "", camel),
                    HookDialect::Snake => self.put("", "error", clipped(message)),
                }
                self.put("errorContext", "error_context", *what);
            }
            HookEventData::AgentStart | HookEventData::PreTool(_) => {}
        }
    }

    fn add_call_fields(&mut self, call: &ToolUse) {
        self.put("toolName", "tool_name", tool_names::dialect_tool_name(&call.tool, self.dialect));
        let input = match serde_json::from_str(&call.input) {
            Ok(Value::Object(input)) => Value::Object(tool_names::args_to_dialect(&call.tool, self.dialect, input)),
            // These are not valid arguments; the tool will report that.
            Ok(_) | Err(_) => Value::String(clipped(&call.input)),
        };
        self.put("toolArgs", "tool_input", input);
        self.put("toolCallId", "tool_use_id", call.id.0.clone());
    }

    fn add_item_fields(&mut self, item: &HookItem) {
        self.put("taskId", "task_id", item.id.to_string());
        self.put("taskSubject", "task_subject", item.subject.clone());
        self.put("taskDescription", "task_description", clipped(&item.description));
        self.put("taskList", "task_list", item.list.to_string());
        if let Some(owner) = &item.owner {
            self.put("teammateName", "teammate_name", owner.clone());
        }
        if let ListName::Team(name) = &item.list {
            self.put("teamName", "team_name", name.clone());
        }
    }

    /// Copilot's dialect writes one of these names with underscores too.
    fn add_stop_fields(&mut self, reason: &str, last_message: &str, is_repeated: bool, context: &HookContext) {
        let reason = match (self.dialect, reason) {
            (HookDialect::Camel, "completed") => "end_turn",
            (HookDialect::Camel | HookDialect::Snake, reason) => reason,
        };
        self.put("stopReason", "stop_reason", reason);
        self.put("stop_hook_active", "stop_hook_active", is_repeated);
        self.put("response", "last_assistant_message", clipped(last_message));
        if context.parent.is_some() {
            self.put("agentTranscriptPath", "agent_transcript_path", context.transcript.clone());
        }
    }
}

fn clipped(text: &str) -> String {
    protocol::clip_middle(text, MAX_TEXT_BYTES)
}

/// The name of the mode. Claude's dialect uses Bosun's name if it has none of its own.
fn mode_name(mode: PermissionMode, dialect: HookDialect) -> String {
    match (mode, dialect) {
        (PermissionMode::AllowAll, HookDialect::Snake) => "bypassPermissions".into(),
        (mode, _) => mode.to_string(),
    }
}
