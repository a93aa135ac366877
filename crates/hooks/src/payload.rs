//! What a hook reads: the fields that its family promises, and under `bosun` the ids that pair exactly.

use protocol::{HookDialect, HookEvent, ListName, PermissionMode};
use serde_json::{Map, Value, json};

use crate::{HookContext, HookEventData, HookItem, ToolUse, event, tool_names};

/// Most bytes of one text in a payload; the transcript has all of it.
const TEXT_MAX: usize = 64 * 1024;

/// An occasion in a family's words.
pub(crate) fn payload(occasion: &HookEventData, event: HookEvent, about: &HookContext, dialect: HookDialect) -> Value {
    let mut fields = PayloadFields { dialect, map: Map::new() };
    fields.base(event, about);
    fields.agent(about);
    fields.occasion(occasion, about);
    fields.map.insert("bosun".into(), ids(event, about));
    Value::Object(fields.map)
}

fn ids(event: HookEvent, about: &HookContext) -> Value {
    json!({
        "event": event::event_name(event, HookDialect::Camel),
        "session": about.session.to_string(),
        "agent": about.agent.to_string(),
        "parent": about.parent.map(|parent| parent.to_string()),
        "type": about.definition,
        "path": about.path,
        "depth": about.depth,
        "activation": about.activation.0,
        "attempt": about.attempt.0,
        "sequence": about.sequence,
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

    fn base(&mut self, event: HookEvent, about: &HookContext) {
        self.put("sessionId", "session_id", about.session.to_string());
        self.put("hookEventName", "hook_event_name", event::event_name(event, self.dialect));
        self.put("transcriptPath", "transcript_path", about.transcript.clone());
        self.put("timestamp", "timestamp", about.at.0);
        self.put("cwd", "cwd", about.cwd.clone());
        self.put("permissionMode", "permission_mode", mode(about.mode, self.dialect));
    }

    /// Both families name the agent only below the session's own.
    fn agent(&mut self, about: &HookContext) {
        let Some(parent) = about.parent else { return };
        self.put("agentId", "agent_id", about.agent.to_string());
        self.put("agentType", "agent_type", about.definition.clone());
        self.put("agentName", "agent_name", about.name.clone());
        self.put("agentDisplayName", "agent_display_name", about.name.clone());
        self.put("agentDescription", "agent_description", about.description.clone());
        self.put("parentAgentId", "parent_agent_id", parent.to_string());
    }

    fn occasion(&mut self, occasion: &HookEventData, about: &HookContext) {
        if let Some(call) = occasion.call() {
            self.call(call);
        }
        match occasion {
            HookEventData::SessionStart(origin) => {
                let words = origin.source_names();
                let word = match self.dialect {
                    HookDialect::Camel => words.first(),
                    HookDialect::Snake => words.last(),
                };
                self.put("source", "source", word.copied().unwrap_or_default());
            }
            HookEventData::SessionEnd { reason } => self.put("reason", "reason", reason.clone()),
            HookEventData::Prompt { prompt } => self.put("prompt", "prompt", clipped(prompt)),
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
            HookEventData::AgentStop { reason, last_message: said, is_repeated: again } => {
                self.stop(reason, said, *again, about)
            }
            HookEventData::Item { item, .. } => self.item(item),
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

    fn call(&mut self, call: &ToolUse) {
        self.put("toolName", "tool_name", tool_names::dialect_tool_name(&call.tool, self.dialect));
        let input = match serde_json::from_str(&call.input) {
            Ok(Value::Object(input)) => Value::Object(tool_names::args_to_dialect(&call.tool, self.dialect, input)),
            // What the model wrote is no arguments; the tool will say so.
            Ok(_) | Err(_) => Value::String(clipped(&call.input)),
        };
        self.put("toolArgs", "tool_input", input);
        self.put("toolCallId", "tool_use_id", call.id.0.clone());
    }

    fn item(&mut self, item: &HookItem) {
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

    /// The first family writes one of these names with underscores too.
    fn stop(&mut self, reason: &str, said: &str, again: bool, about: &HookContext) {
        self.put("stopReason", "stop_reason", reason);
        self.put("stop_hook_active", "stop_hook_active", again);
        self.put("response", "last_assistant_message", clipped(said));
        if about.parent.is_some() {
            self.put("agentTranscriptPath", "agent_transcript_path", about.transcript.clone());
        }
    }
}

fn clipped(text: &str) -> String {
    protocol::clip_middle(text, TEXT_MAX)
}

/// What the mode is called. What the other family has no word for goes by ours.
fn mode(mode: PermissionMode, dialect: HookDialect) -> String {
    match (mode, dialect) {
        (PermissionMode::AllowAll, HookDialect::Snake) => "bypassPermissions".into(),
        (mode, _) => mode.to_string(),
    }
}
