//! A model that does what a function says, and waits where a test holds it.

use std::fmt;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use model::{Delta, Deltas, MessagePart, Model, ModelError, ModelFacts, ModelMessage, ModelRequest};
use protocol::{CallId, Event, ModelFault, StopReason, ToolCallRequest, ToolResult, Usage};
use serde_json::{Value, json};
use testkit::session::PlayedSession;
use tokio::sync::Semaphore;

/// What every answer is said to have used.
pub(super) const USED: Usage = Usage { input: 100, output: 10, cache_read: 0, cache_write: 0 };

/// A model that does what a function says.
pub(super) struct Played<F> {
    name: &'static str,
    facts: ModelFacts,
    act: F,
    used: Usage,
    fails: fn(&ModelRequest) -> Option<String>,
    held: fn(&ModelRequest) -> bool,
    gate: Arc<Semaphore>,
}

/// A model that answers like this.
pub(super) fn played<F: Fn(&ModelRequest) -> Vec<Delta>>(act: F) -> Played<F> {
    let facts = ModelFacts { max_output: 200, ..ModelFacts::UNKNOWN };
    let gate = Arc::new(Semaphore::new(0));
    Played { name: "played", facts, act, used: USED, fails: |_| None, held: |_| false, gate }
}

impl<F> Played<F> {
    /// It is called this.
    pub(super) fn named(self, name: &'static str) -> Played<F> {
        Played { name, ..self }
    }

    /// This is known of it.
    pub(super) fn known(self, facts: ModelFacts) -> Played<F> {
        Played { facts, ..self }
    }

    /// It counts nothing.
    pub(super) fn uncounted(self) -> Played<F> {
        Played { used: Usage::default(), ..self }
    }

    /// Such requests fail for good.
    pub(super) fn failing(self, fails: fn(&ModelRequest) -> Option<String>) -> Played<F> {
        Played { fails, ..self }
    }

    /// Such requests are answered when the gate lets them.
    pub(super) fn holding(self, held: fn(&ModelRequest) -> bool) -> (Played<F>, Arc<Semaphore>) {
        let gate = Arc::clone(&self.gate);
        (Played { held, ..self }, gate)
    }
}

impl<F> fmt::Debug for Played<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Played").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<F: Fn(&ModelRequest) -> Vec<Delta> + Send + Sync> Model for Played<F> {
    fn name(&self) -> &str {
        self.name
    }

    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn ask(&self, request: ModelRequest) -> Deltas {
        if let Some(words) = (self.fails)(&request) {
            return stream::iter([Err(ModelError::new(ModelFault::Terminal, words))]).boxed();
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

/// An answer of these words.
pub(super) fn says(text: impl Into<String>) -> Vec<Delta> {
    vec![Delta::Text(text.into())]
}

/// An answer that makes these calls.
pub(super) fn calls<const N: usize>(calls: [(&str, &str, Value); N]) -> Vec<Delta> {
    calls.into_iter().map(|(id, tool, input)| raw(id, tool, &input.to_string())).collect()
}

/// A call with whatever input.
pub(super) fn raw(id: &str, tool: &str, input: &str) -> Delta {
    Delta::Call(ToolCallRequest { id: CallId(id.into()), tool: tool.into(), input: input.into() })
}

/// What starts a worker of this name.
pub(super) fn work(name: &str) -> Value {
    json!({ "description": "some work", "prompt": format!("do {name}"), "agent_type": "worker", "name": name })
}

/// The same with more said about it.
pub(super) fn with(mut input: Value, more: Value) -> Value {
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

/// What a task's model was asked, in order.
pub(super) fn asked(run: &PlayedSession, path: &str) -> Vec<ModelRequest> {
    let requests = run.stage().model(run.id()).requests();
    requests.into_iter().filter(|request| request.path == path).collect()
}

/// Every text that a request tells besides the model's own words.
pub(super) fn heard(request: &ModelRequest) -> Vec<String> {
    let texts = |message: &ModelMessage| match message {
        ModelMessage::User { parts } => parts.iter().filter_map(words).collect(),
        ModelMessage::Answers { answers } => answers.iter().map(|(_, answer)| answer.text.clone()).collect(),
        ModelMessage::Assistant { .. } => Vec::new(),
    };
    request.messages.iter().flat_map(texts).collect()
}

fn words(part: &MessagePart) -> Option<String> {
    match part {
        MessagePart::Text(text) => Some(text.clone()),
        MessagePart::Image(_) => None,
    }
}

/// The names of the tools that a request tells of.
pub(super) fn tools(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}
