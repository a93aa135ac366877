//! Events about turns and their calls.

use hooks::tool_names;
use protocol::{CallId, ContentBlock, HookDialect, ModelFault, TaskId, ToolResult, Turn, Usage, tool_name};
use serde_json::{Value, json};

use super::EventTranslator;
use super::asks::CallDenial;
use super::event::{CopilotEvent, message_id};
use super::permission::mcp_tool;
use crate::copilot::methods::model::REPORTED_CONTEXT_TOKENS;
use crate::copilot::model_names::client_model_name;

/// The tracked state of a call until it is answered.
#[derive(Debug)]
pub(super) struct TrackedCall {
    tool: String,
    input: String,
    turn: Turn,
    started: bool,
}

impl TrackedCall {
    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// Its arguments in the SDK's terms.
    fn client_arguments(&self) -> Value {
        arguments(&self.tool, &self.input)
    }
}

/// A call's arguments in the SDK's terms; anything but an object stays unchanged.
pub(super) fn arguments(tool: &str, input: &str) -> Value {
    match serde_json::from_str(input) {
        Ok(Value::Object(input)) => Value::Object(tool_names::args_to_dialect(tool, HookDialect::Camel, input)),
        Ok(other) => other,
        Err(_) => Value::String(input.to_owned()),
    }
}

/// A tool's name in the SDK.
pub(super) fn client_tool_name(tool: &str) -> &str {
    tool_names::dialect_tool_name(tool, HookDialect::Camel)
}

impl EventTranslator {
    pub(super) fn turn_begun(&mut self, task: TaskId, turn: Turn, model: String) -> Vec<CopilotEvent> {
        let agent_id = self.subagent_id(task);
        let Some(agent) = self.agents.get_mut(&task) else { return Vec::new() };
        agent.model = Some(model.clone());
        let model = client_model_name(&model);
        let turn_id = turn.0.to_string();
        let is_retry = agent.turn.replace((turn, 0)).is_some_and(|(before, _)| before == turn);
        let event = match is_retry {
            true => CopilotEvent::transient("assistant.turn_retry", json!({ "turnId": turn_id, "model": model })),
            false => CopilotEvent::persistent("assistant.turn_start", json!({ "turnId": turn_id, "model": model })),
        };
        vec![event.for_agent(agent_id)]
    }

    pub(super) fn turn_answered(
        &mut self,
        task: TaskId,
        turn: Turn,
        content: Vec<ContentBlock>,
        usage: Usage,
        model: &str,
    ) -> Vec<CopilotEvent> {
        let (mut text, mut thinking, mut requests) = (String::new(), String::new(), Vec::new());
        for block in content {
            match block {
                ContentBlock::Text { text: more } => text.push_str(&more),
                ContentBlock::Thinking { text: more } => thinking.push_str(&more),
                ContentBlock::Call(call) => {
                    requests.push(json!({
                        "toolCallId": call.id.to_string(),
                        "name": client_tool_name(&call.tool),
                        "arguments": arguments(&call.tool, &call.input),
                        "type": "function",
                    }));
                    let tracked = TrackedCall { tool: call.tool, input: call.input, turn, started: false };
                    self.calls.insert((task, call.id), tracked);
                }
                ContentBlock::Opaque { .. } => {}
            }
        }
        let mut events = vec![CopilotEvent::transient("assistant.usage", usage_json(model, usage))];
        if self.root == Some(task) {
            self.root_messages += 1;
            self.root_bytes += u64::try_from(text.len()).unwrap_or_default();
            events.push(self.usage_info(usage));
        }
        if !thinking.is_empty() {
            let reasoning =
                json!({ "reasoningId": format!("reasoning-{}", message_id(task, turn)), "content": thinking });
            events.push(CopilotEvent::persistent("assistant.reasoning", reasoning));
        }
        let calls = requests.len();
        events.push(CopilotEvent::persistent(
            "assistant.message",
            self.message_content(task, turn, text, requests, model, usage),
        ));
        let agent_id = self.subagent_id(task);
        if let Some(agent) = self.agents.get_mut(&task) {
            agent.usage = agent.usage.plus(usage);
            agent.turn = Some((turn, calls));
        }
        if calls == 0 {
            events.extend(self.end_turn(task));
        }
        events.into_iter().map(|event| event.for_agent(agent_id)).collect()
    }

    /// How full the root's context is.
    fn usage_info(&self, usage: Usage) -> CopilotEvent {
        let counted = input_tokens(usage).saturating_add(usage.output);
        let content = json!({
            // Some providers do not count.
            "currentTokens": if counted > 0 { counted } else { self.root_bytes / BYTES_PER_TOKEN + 1 },
            "messagesLength": self.root_messages,
            "tokenLimit": REPORTED_CONTEXT_TOKENS,
        });
        CopilotEvent::transient("session.usage_info", content)
    }

    fn message_content(
        &self,
        task: TaskId,
        turn: Turn,
        text: String,
        requests: Vec<Value>,
        model: &str,
        usage: Usage,
    ) -> Value {
        let mut message = json!({
            "messageId": message_id(task, turn),
            "content": text,
            "toolRequests": requests,
            "model": model,
            "turnId": turn.0.to_string(),
            "outputTokens": usage.output,
        });
        if let Some(agent) = self.agents.get(&task).filter(|_| self.subagent_id(task).is_some()) {
            message["parentToolCallId"] = agent.call_id(task).into();
        }
        message
    }

    pub(super) fn turn_failed(
        &mut self,
        task: TaskId,
        turn: Turn,
        fault: ModelFault,
        message: &str,
    ) -> Vec<CopilotEvent> {
        let agent_id = self.subagent_id(task);
        match fault {
            // Requested by the user; the end of the activation reports it.
            ModelFault::Cancelled | ModelFault::Interrupted => return Vec::new(),
            ModelFault::Transient
            | ModelFault::Unreachable
            | ModelFault::Overloaded
            | ModelFault::RetryAfter { .. }
            | ModelFault::QuotaUntil { .. }
            | ModelFault::Auth
            | ModelFault::TooLong
            | ModelFault::Terminal => {}
        }
        let content = json!({
            "source": if agent_id.is_none() { "top_level" } else { "subagent" },
            "errorMessage": message,
            "turnId": turn.0.to_string(),
        });
        vec![CopilotEvent::transient("model.call_failure", content).for_agent(agent_id)]
    }

    pub(super) fn call_rewritten(&mut self, task: TaskId, call: CallId, input: String) {
        if let Some(tracked) = self.calls.get_mut(&(task, call)) {
            tracked.input = input;
        }
    }

    pub(super) fn call_started(&mut self, task: TaskId, call: CallId) -> Vec<CopilotEvent> {
        let agent_id = self.subagent_id(task);
        let key = (task, call);
        let Some(tracked) = self.calls.get_mut(&key) else { return Vec::new() };
        if std::mem::replace(&mut tracked.started, true) {
            return Vec::new();
        }
        let mut content = json!({
            "toolCallId": key.1.to_string(),
            "toolName": client_tool_name(&tracked.tool),
            "arguments": tracked.client_arguments(),
            "turnId": tracked.turn.0.to_string(),
        });
        if let Some((server, tool)) = mcp_tool(&tracked.tool) {
            (content["mcpServerName"], content["mcpToolName"]) = (server.into(), tool.into());
        }
        vec![CopilotEvent::persistent("tool.execution_start", content).for_agent(agent_id)]
    }

    pub(super) fn call_answered(&mut self, task: TaskId, call: CallId, answer: ToolResult) -> Vec<CopilotEvent> {
        // A denied call never started, but clients expect a start for every end.
        let mut events = self.call_started(task, call.clone());
        let tracked = self.calls.remove(&(task, call.clone()));
        let wrote_plan =
            tracked.as_ref().is_some_and(|tracked| tracked.tool == tool_name::WRITE_PLAN) && !answer.status.is_error();
        let turn = tracked.map(|tracked| tracked.turn.0.to_string());
        let mut content = json!({
            "toolCallId": call.to_string(),
            "success": !answer.status.is_error(),
            "result": { "content": answer.text, "detailedContent": answer.text },
        });
        if let Some(turn) = turn {
            content["turnId"] = turn.into();
        }
        if answer.status.is_error() {
            let message = match self.denied_calls.remove(&(task, call)) {
                Some(CallDenial::Rejected) => format!("The user rejected this tool call. {}", answer.text),
                Some(CallDenial::Undecided) => format!("Permission denied: nobody decided. {}", answer.text),
                None => answer.text,
            };
            content["error"] = json!({ "message": message, "code": answer.status.as_str() });
        }
        let agent_id = self.subagent_id(task);
        events.push(CopilotEvent::persistent("tool.execution_complete", content).for_agent(agent_id));
        if wrote_plan {
            let operation = if std::mem::replace(&mut self.has_plan, true) { "update" } else { "create" };
            events.push(CopilotEvent::persistent("session.plan_changed", json!({ "operation": operation })));
        }
        self.root_messages += u64::from(self.root == Some(task));
        if let Some(agent) = self.agents.get_mut(&task) {
            agent.calls += 1;
            if let Some((_, open)) = &mut agent.turn {
                *open = open.saturating_sub(1);
                if *open == 0 {
                    events.extend(self.end_turn(task).map(|event| event.for_agent(agent_id)));
                }
            }
        }
        events
    }

    /// Ends the current turn, if there is one.
    pub(super) fn end_turn(&mut self, task: TaskId) -> Option<CopilotEvent> {
        let agent_id = self.subagent_id(task);
        let (turn, _) = self.agents.get_mut(&task)?.turn.take()?;
        Some(
            CopilotEvent::persistent("assistant.turn_end", json!({ "turnId": turn.0.to_string() })).for_agent(agent_id),
        )
    }
}

fn usage_json(model: &str, usage: Usage) -> Value {
    json!({
        "model": model,
        "inputTokens": input_tokens(usage),
        "outputTokens": usage.output,
        "cacheReadTokens": usage.cache_read,
        "cacheWriteTokens": usage.cache_write,
    })
}

/// Roughly how many bytes of a text are one token.
const BYTES_PER_TOKEN: u64 = 4;

/// All input tokens, cached or not.
fn input_tokens(usage: Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}
