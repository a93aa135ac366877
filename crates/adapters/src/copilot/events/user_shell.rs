//! Events about commands that the user runs: they look like tool calls that no model has made.

use hooks::tool_names;
use protocol::{HookDialect, TaskId, TaskOutcome, tool_name};
use serde_json::json;

use super::EventTranslator;
use super::event::CopilotEvent;
use super::tasks::outcome_text;

impl EventTranslator {
    pub(super) fn is_user_command(&self, task: TaskId) -> bool {
        self.agents.get(&task).is_some_and(|task| task.spec.kind.is_user_command())
    }
}

pub(super) fn user_command_started(task: TaskId, command: &str) -> Vec<CopilotEvent> {
    let tool = tool_names::dialect_tool_name(tool_name::SHELL, HookDialect::Camel);
    let call = json!({ "toolCallId": task.to_string(), "toolName": tool, "arguments": { "command": command } });
    let event = |kind: &'static str| CopilotEvent::persistent(kind, call.clone());
    vec![event("tool.user_requested"), event("tool.execution_start")]
}

pub(super) fn user_command_ended(task: TaskId, outcome: &TaskOutcome, output: String) -> CopilotEvent {
    let is_success = *outcome == TaskOutcome::Completed;
    let mut content = json!({
        "toolCallId": task.to_string(),
        "success": is_success,
        "isUserRequested": true,
        "result": { "content": output, "detailedContent": output },
    });
    if !is_success {
        content["error"] = json!({ "message": outcome_text(outcome), "code": "failure" });
    }
    CopilotEvent::persistent("tool.execution_complete", content)
}
