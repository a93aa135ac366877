//! A model whose answers come from a function, and wait where a test holds them.

use std::fmt;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use model::{Delta, Deltas, MessagePart, Model, ModelError, ModelFacts, ModelMessage, ModelRequest};
use protocol::{CallId, Event, ModelFault, StopReason, ToolCallRequest, ToolResult, Usage};
use serde_json::{Value, json};
use testkit::session::PlayedSession;
use tokio::sync::Semaphore;

/// The usage that every answer reports.
pub(super) const USED: Usage = Usage { input: 100, output: 10, cache_read: 0, cache_write: 0 };

/// A model whose answers come from a function.
pub(super) struct FunctionModel<F> {
    name: &'static str,
    facts: ModelFacts,
    act: F,
    used: Usage,
    fails: fn(&ModelRequest) -> Option<String>,
    held: fn(&ModelRequest) -> bool,
    gate: Arc<Semaphore>,
}

/// A model whose answers come from this function.
pub(super) fn played<F: Fn(&ModelRequest) -> Vec<Delta>>(act: F) -> FunctionModel<F> {
    let facts = ModelFacts { max_output_tokens: 200, ..ModelFacts::UNKNOWN };
    let gate = Arc::new(Semaphore::new(0));
    FunctionModel { name: "played", facts, act, used: USED, fails: |_| None, held: |_| false, gate }
}

impl<F> FunctionModel<F> {
    /// Sets the model's name.
    pub(super) fn named(self, name: &'static str) -> FunctionModel<F> {
        FunctionModel { name, ..self }
    }

    /// Sets the model's facts.
    pub(super) fn with_facts(self, facts: ModelFacts) -> FunctionModel<F> {
        FunctionModel { facts, ..self }
    }

    /// Makes the model report no usage.
    pub(super) fn without_usage(self) -> FunctionModel<F> {
        FunctionModel { used: Usage::default(), ..self }
    }

    /// Makes requests fail for good, with the message that the function returns.
    pub(super) fn failing(self, fails: fn(&ModelRequest) -> Option<String>) -> FunctionModel<F> {
        FunctionModel { fails, ..self }
    }

    /// Holds the answers to these requests until the gate has permits for them.
    pub(super) fn holding(self, held: fn(&ModelRequest) -> bool) -> (FunctionModel<F>, Arc<Semaphore>) {
        let gate = Arc::clone(&self.gate);
        (FunctionModel { held, ..self }, gate)
    }
}

impl<F> fmt::Debug for FunctionModel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Played").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<F: Fn(&ModelRequest) -> Vec<Delta> + Send + Sync> Model for FunctionModel<F> {
    fn name(&self) -> &str {
        self.name
    }

    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        if let Some(message) = (self.fails)(&request) {
            return stream::iter([Err(ModelError::new(ModelFault::Terminal, message))]).boxed();
        }
        let mut deltas = (self.act)(&request);
        let calls = deltas.iter().any(|delta| matches!(delta, Delta::Call(_)));
        let stop = if calls { StopReason::Calls } else { StopReason::End };
        deltas.push(Delta::Done { stop, usage: self.used, model: self.name.into() });
        let (is_held, gate) = ((self.held)(&request), Arc::clone(&self.gate));
        let opened = async move {
            if is_held {
                gate.acquire().await.unwrap().forget();
            }
            stream::iter(deltas.into_iter().map(Ok))
        };
        stream::once(opened).flatten().boxed()
    }
}

/// An answer with this text.
pub(super) fn says(text: impl Into<String>) -> Vec<Delta> {
    vec![Delta::Text(text.into())]
}

/// An answer with these calls.
pub(super) fn calls<const N: usize>(calls: [(&str, &str, Value); N]) -> Vec<Delta> {
    calls.into_iter().map(|(id, tool, input)| raw_call(id, tool, &input.to_string())).collect()
}

/// A call whose input may be invalid.
pub(super) fn raw_call(id: &str, tool: &str, input: &str) -> Delta {
    Delta::Call(ToolCallRequest { id: CallId(id.into()), tool: tool.into(), input: input.into() })
}

/// The input of `task` for a worker of this name.
pub(super) fn worker_input(name: &str) -> Value {
    json!({ "description": "some work", "prompt": format!("do {name}"), "agent_type": "worker", "name": name })
}

/// The input with further fields.
pub(super) fn with_fields(mut input: Value, more: Value) -> Value {
    let (Value::Object(into), Value::Object(more)) = (&mut input, more) else { panic!("both are objects") };
    into.extend(more);
    input
}

/// The answer to a call.
#[track_caller]
pub(super) fn answer<'a>(run: &'a PlayedSession, id: &str) -> &'a ToolResult {
    let answered = run.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::CallAnswered { call, answer, .. } if call.0 == id => Some(answer),
        _other => None,
    });
    answered.unwrap_or_else(|| panic!("{id} has no answer:\n{}", run.transcript()))
}

/// The model requests of a task, in order.
pub(super) fn requests_of(run: &PlayedSession, path: &str) -> Vec<ModelRequest> {
    let requests = run.stage().model(run.id()).requests();
    requests.into_iter().filter(|request| request.path == path).collect()
}

/// All texts of a request, except the model's own answers.
pub(super) fn input_texts(request: &ModelRequest) -> Vec<String> {
    let texts = |message: &ModelMessage| match message {
        ModelMessage::User { parts } => parts.iter().filter_map(text_of).collect(),
        ModelMessage::Answers { answers } => answers.iter().map(|(_, answer)| answer.text.clone()).collect(),
        ModelMessage::Assistant { .. } => Vec::new(),
    };
    request.messages.iter().flat_map(texts).collect()
}

fn text_of(part: &MessagePart) -> Option<String> {
    match part {
        MessagePart::Text(text) => Some(text.clone()),
        MessagePart::Image(_) => None,
    }
}

/// The names of the tools in a request.
pub(super) fn tools(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}
