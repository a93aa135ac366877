//! What clients are told of turns and of the calls in them.

use hooks::names;
use protocol::{Answer, Block, CallId, HookDialect, ModelFault, TaskId, Turn, Usage};
use serde_json::{Value, json};

use super::Translator;
use super::wire::{Wire, message_id};

/// What must be remembered of a call until it is answered.
#[derive(Debug)]
pub(super) struct Call {
    tool: String,
    input: String,
    turn: Turn,
    started: bool,
}

impl Call {
    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// Its arguments in the family's words.
    fn arguments(&self) -> Value {
        arguments(&self.tool, &self.input)
    }
}

/// A call's arguments in the family's words; what is no object stays as it was written.
pub(super) fn arguments(tool: &str, input: &str) -> Value {
    match serde_json::from_str(input) {
        Ok(Value::Object(input)) => Value::Object(names::to_theirs(tool, HookDialect::Camel, input)),
        Ok(other) => other,
        Err(_) => Value::String(input.to_owned()),
    }
}

/// A tool's name in the family's words.
pub(super) fn named(tool: &str) -> &str {
    names::told(tool, HookDialect::Camel)
}

impl Translator {
    pub(super) fn turn_begun(&mut self, task: TaskId, turn: Turn, model: String) -> Vec<Wire> {
        let whose = self.whose(task);
        let Some(agent) = self.agents.get_mut(&task) else { return Vec::new() };
        agent.model = Some(model.clone());
        let turn_id = turn.0.to_string();
        let is_again = agent.turn.replace((turn, 0)).is_some_and(|(before, _)| before == turn);
        let told = match is_again {
            true => Wire::told("assistant.turn_retry", json!({ "turnId": turn_id, "model": model })),
            false => Wire::kept("assistant.turn_start", json!({ "turnId": turn_id, "model": model })),
        };
        vec![told.of(whose)]
    }

    pub(super) fn turn_answered(
        &mut self,
        task: TaskId,
        turn: Turn,
        content: Vec<Block>,
        usage: Usage,
        model: &str,
    ) -> Vec<Wire> {
        let (mut text, mut thought, mut requests) = (String::new(), String::new(), Vec::new());
        for block in content {
            match block {
                Block::Text { text: more } => text.push_str(&more),
                Block::Thinking { text: more } => thought.push_str(&more),
                Block::Call(call) => {
                    requests.push(json!({
                        "toolCallId": call.id.to_string(),
                        "name": named(&call.tool),
                        "arguments": arguments(&call.tool, &call.input),
                        "type": "function",
                    }));
                    let kept = Call { tool: call.tool, input: call.input, turn, started: false };
                    self.calls.insert((task, call.id), kept);
                }
                Block::Opaque { .. } => {}
            }
        }
        let mut told = vec![Wire::told("assistant.usage", used(model, usage))];
        if !thought.is_empty() {
            let reasoning =
                json!({ "reasoningId": format!("reasoning-{}", message_id(task, turn)), "content": thought });
            told.push(Wire::kept("assistant.reasoning", reasoning));
        }
        let calls = requests.len();
        told.push(Wire::kept("assistant.message", self.message(task, turn, text, requests, model, usage)));
        let whose = self.whose(task);
        if let Some(agent) = self.agents.get_mut(&task) {
            agent.usage = agent.usage.plus(usage);
            agent.turn = Some((turn, calls));
        }
        if calls == 0 {
            told.extend(self.turn_over(task));
        }
        told.into_iter().map(|wire| wire.of(whose)).collect()
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
        if let Some(agent) = self.agents.get(&task).filter(|_| self.whose(task).is_some()) {
            message["parentToolCallId"] = agent.call(task).into();
        }
        message
    }

    pub(super) fn turn_failed(&mut self, task: TaskId, turn: Turn, fault: ModelFault, message: &str) -> Vec<Wire> {
        let whose = self.whose(task);
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
        vec![Wire::told("model.call_failure", content).of(whose)]
    }

    pub(super) fn rewritten(&mut self, task: TaskId, call: CallId, input: String) {
        if let Some(known) = self.calls.get_mut(&(task, call)) {
            known.input = input;
        }
    }

    pub(super) fn call_started(&mut self, task: TaskId, call: CallId) -> Vec<Wire> {
        let whose = self.whose(task);
        let key = (task, call);
        let Some(known) = self.calls.get_mut(&key) else { return Vec::new() };
        if std::mem::replace(&mut known.started, true) {
            return Vec::new();
        }
        let content = json!({
            "toolCallId": key.1.to_string(),
            "toolName": named(&known.tool),
            "arguments": known.arguments(),
            "turnId": known.turn.0.to_string(),
        });
        vec![Wire::kept("tool.execution_start", content).of(whose)]
    }

    pub(super) fn call_answered(&mut self, task: TaskId, call: CallId, answer: Answer) -> Vec<Wire> {
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
            content["error"] = json!({ "message": answer.text, "code": answer.status.word() });
        }
        let whose = self.whose(task);
        told.push(Wire::kept("tool.execution_complete", content).of(whose));
        if has_planned {
            let operation = if std::mem::replace(&mut self.has_plan, true) { "update" } else { "create" };
            told.push(Wire::kept("session.plan_changed", json!({ "operation": operation })));
        }
        if let Some(agent) = self.agents.get_mut(&task) {
            agent.calls += 1;
            if let Some((_, open)) = &mut agent.turn {
                *open = open.saturating_sub(1);
                if *open == 0 {
                    told.extend(self.turn_over(task).map(|wire| wire.of(whose)));
                }
            }
        }
        told
    }

    /// Ends the turn under way, if there is one.
    pub(super) fn turn_over(&mut self, task: TaskId) -> Option<Wire> {
        let whose = self.whose(task);
        let (turn, _) = self.agents.get_mut(&task)?.turn.take()?;
        Some(Wire::kept("assistant.turn_end", json!({ "turnId": turn.0.to_string() })).of(whose))
    }
}

fn used(model: &str, usage: Usage) -> Value {
    json!({
        "model": model,
        "inputTokens": usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write),
        "outputTokens": usage.output,
        "cacheReadTokens": usage.cache_read,
        "cacheWriteTokens": usage.cache_write,
    })
}
