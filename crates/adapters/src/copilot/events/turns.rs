//! What clients are told of turns and of the calls in them.

use hooks::tool_names;
use protocol::{CallId, ContentBlock, HookDialect, ModelFault, TaskId, ToolResult, Turn, Usage};
use serde_json::{Value, json};

use super::EventTranslator;
use super::event::{CopilotEvent, message_id};

/// What must be remembered of a call until it is answered.
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

    /// Its arguments in the family's words.
    fn client_arguments(&self) -> Value {
        arguments(&self.tool, &self.input)
    }
}

/// A call's arguments in the family's words; what is not an object stays as it was written.
pub(super) fn arguments(tool: &str, input: &str) -> Value {
    match serde_json::from_str(input) {
        Ok(Value::Object(input)) => Value::Object(tool_names::args_to_dialect(tool, HookDialect::Camel, input)),
        Ok(other) => other,
        Err(_) => Value::String(input.to_owned()),
    }
}

/// A tool's name in the family's words.
pub(super) fn client_tool_name(tool: &str) -> &str {
    tool_names::dialect_tool_name(tool, HookDialect::Camel)
}

impl EventTranslator {
    pub(super) fn turn_begun(&mut self, task: TaskId, turn: Turn, model: String) -> Vec<CopilotEvent> {
        let whose = self.subagent_id(task);
        let Some(agent) = self.agents.get_mut(&task) else { return Vec::new() };
        agent.model = Some(model.clone());
        let turn_id = turn.0.to_string();
        let is_again = agent.turn.replace((turn, 0)).is_some_and(|(before, _)| before == turn);
        let told = match is_again {
            true => CopilotEvent::transient("assistant.turn_retry", json!({ "turnId": turn_id, "model": model })),
            false => CopilotEvent::persistent("assistant.turn_start", json!({ "turnId": turn_id, "model": model })),
        };
        vec![told.for_agent(whose)]
    }

    pub(super) fn turn_answered(
        &mut self,
        task: TaskId,
        turn: Turn,
        content: Vec<ContentBlock>,
        usage: Usage,
        model: &str,
    ) -> Vec<CopilotEvent> {
        let (mut text, mut thought, mut requests) = (String::new(), String::new(), Vec::new());
        for block in content {
            match block {
                ContentBlock::Text { text: more } => text.push_str(&more),
                ContentBlock::Thinking { text: more } => thought.push_str(&more),
                ContentBlock::Call(call) => {
                    requests.push(json!({
                        "toolCallId": call.id.to_string(),
                        "name": client_tool_name(&call.tool),
                        "arguments": arguments(&call.tool, &call.input),
                        "type": "function",
                    }));
                    let kept = TrackedCall { tool: call.tool, input: call.input, turn, started: false };
                    self.calls.insert((task, call.id), kept);
                }
                ContentBlock::Opaque { .. } => {}
            }
        }
        let mut told = vec![CopilotEvent::transient("assistant.usage", usage_json(model, usage))];
        if !thought.is_empty() {
            let reasoning =
                json!({ "reasoningId": format!("reasoning-{}", message_id(task, turn)), "content": thought });
            told.push(CopilotEvent::persistent("assistant.reasoning", reasoning));
        }
        let calls = requests.len();
        told.push(CopilotEvent::persistent(
            "assistant.message",
            self.message(task, turn, text, requests, model, usage),
        ));
        let whose = self.subagent_id(task);
        if let Some(agent) = self.agents.get_mut(&task) {
            agent.usage = agent.usage.plus(usage);
            agent.turn = Some((turn, calls));
        }
        if calls == 0 {
            told.extend(self.turn_over(task));
        }
        told.into_iter().map(|wire| wire.for_agent(whose)).collect()
    }

    fn message(
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
            message["parentToolCallId"] = agent.call(task).into();
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
        let whose = self.subagent_id(task);
        match fault {
            // Somebody wanted that; how the activation ends says so.
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
            "source": if whose.is_none() { "top_level" } else { "subagent" },
            "errorMessage": message,
            "turnId": turn.0.to_string(),
        });
        vec![CopilotEvent::transient("model.call_failure", content).for_agent(whose)]
    }

    pub(super) fn rewritten(&mut self, task: TaskId, call: CallId, input: String) {
        if let Some(known) = self.calls.get_mut(&(task, call)) {
            known.input = input;
        }
    }

    pub(super) fn call_started(&mut self, task: TaskId, call: CallId) -> Vec<CopilotEvent> {
        let whose = self.subagent_id(task);
        let key = (task, call);
        let Some(known) = self.calls.get_mut(&key) else { return Vec::new() };
        if std::mem::replace(&mut known.started, true) {
            return Vec::new();
        }
        let content = json!({
            "toolCallId": key.1.to_string(),
            "toolName": client_tool_name(&known.tool),
            "arguments": known.client_arguments(),
            "turnId": known.turn.0.to_string(),
        });
        vec![CopilotEvent::persistent("tool.execution_start", content).for_agent(whose)]
    }

    pub(super) fn call_answered(&mut self, task: TaskId, call: CallId, answer: ToolResult) -> Vec<CopilotEvent> {
        // One that was denied did not start; clients pair starts and ends.
        let mut told = self.call_started(task, call.clone());
        let known = self.calls.remove(&(task, call.clone()));
        let has_planned = known.as_ref().is_some_and(|known| known.tool == "write_plan") && !answer.status.is_error();
        let turn = known.map(|known| known.turn.0.to_string());
        let mut content = json!({
            "toolCallId": call.to_string(),
            "success": !answer.status.is_error(),
            "result": { "content": answer.text, "detailedContent": answer.text },
        });
        if let Some(turn) = turn {
            content["turnId"] = turn.into();
        }
        if answer.status.is_error() {
            content["error"] = json!({ "message": answer.text, "code": answer.status.as_str() });
        }
        let whose = self.subagent_id(task);
        told.push(CopilotEvent::persistent("tool.execution_complete", content).for_agent(whose));
        if has_planned {
            let operation = if std::mem::replace(&mut self.has_plan, true) { "update" } else { "create" };
            told.push(CopilotEvent::persistent("session.plan_changed", json!({ "operation": operation })));
        }
        if let Some(agent) = self.agents.get_mut(&task) {
            agent.calls += 1;
            if let Some((_, open)) = &mut agent.turn {
                *open = open.saturating_sub(1);
                if *open == 0 {
                    told.extend(self.turn_over(task).map(|wire| wire.for_agent(whose)));
                }
            }
        }
        told
    }

    /// Ends the turn under way, if there is one.
    pub(super) fn turn_over(&mut self, task: TaskId) -> Option<CopilotEvent> {
        let whose = self.subagent_id(task);
        let (turn, _) = self.agents.get_mut(&task)?.turn.take()?;
        Some(CopilotEvent::persistent("assistant.turn_end", json!({ "turnId": turn.0.to_string() })).for_agent(whose))
    }
}

fn usage_json(model: &str, usage: Usage) -> Value {
    json!({
        "model": model,
        "inputTokens": usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write),
        "outputTokens": usage.output,
        "cacheReadTokens": usage.cache_read,
        "cacheWriteTokens": usage.cache_write,
    })
}
