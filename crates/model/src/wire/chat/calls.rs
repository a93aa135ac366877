//! Assembles tool calls that arrive in pieces, several at a time.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::returned::{ReturnedExtra, WIRE};
use crate::wire::delta_queue::{DeltaQueue, StreamError};

/// One piece of a call.
#[derive(Deserialize)]
pub(super) struct ToolCallDelta<'a> {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    /// A string; some servers send the object itself.
    arguments: Option<Value>,
}

/// The calls of an answer as they arrive.
#[derive(Debug, Default)]
pub(super) struct PartialCalls(Vec<PartialCall>);

#[derive(Debug, Default)]
struct PartialCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
    extra: Option<String>,
}

impl PartialCalls {
    /// Adds a piece to its call.
    pub(super) fn add(&mut self, piece: ToolCallDelta<'_>, queue: &mut DeltaQueue) -> Result<(), StreamError> {
        let call = self.find_or_add(&piece, queue)?;
        let FunctionDelta { name, arguments } = piece.function.unwrap_or_default();
        let [id, name, arguments] = [piece.id.unwrap_or_default(), name.unwrap_or_default(), arguments_text(arguments)];
        let extra = piece.extra_content.and_then(ReturnedExtra::of_call);
        queue.count_buffered(id.len() + name.len() + arguments.len() + extra.as_ref().map_or(0, String::len))?;
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.arguments.push_str(&arguments);
        call.extra = extra.or(call.extra.take());
        Ok(())
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Queues the calls in the order of their indexes, each after its opaque data.
    pub(super) fn finish(&mut self, queue: &mut DeltaQueue) {
        self.0.sort_by_key(|call| call.index);
        for call in self.0.drain(..) {
            if let Some(extra) = call.extra {
                queue.push_opaque(WIRE, extra);
            }
            queue.push_call(call.id, call.name, call.arguments);
        }
    }

    /// The call that a piece belongs to. Some servers omit the index, or give every call the same one.
    fn find_or_add(
        &mut self,
        piece: &ToolCallDelta<'_>,
        queue: &mut DeltaQueue,
    ) -> Result<&mut PartialCall, StreamError> {
        // The fixed cost of a call, which limits their number: they are searched linearly.
        const CALL_OVERHEAD: usize = 1024;
        let last = self.0.last().map_or(0, |call| call.index);
        let index = piece.index.unwrap_or(last);
        let at = match self.0.iter().rposition(|call| call.index == index) {
            Some(at) if !piece.starts_call_after(&self.0[at]) => at,
            Some(_) | None => {
                queue.count_buffered(CALL_OVERHEAD)?;
                self.0.push(PartialCall { index, ..PartialCall::default() });
                self.0.len() - 1
            }
        };
        Ok(&mut self.0[at])
    }
}

impl ToolCallDelta<'_> {
    /// Whether it starts another call with the same index: it has another id, or, without ids, another name, or the
    /// same name and new arguments after complete ones.
    fn starts_call_after(&self, call: &PartialCall) -> bool {
        let id = self.id.as_deref().unwrap_or_default();
        if !id.is_empty() && !call.id.is_empty() {
            return id != call.id;
        }
        let Some(FunctionDelta { name: Some(name), arguments }) = &self.function else { return false };
        if name.is_empty() || call.name.is_empty() {
            return false;
        }
        *name != call.name || (call.arguments.ends_with('}') && begins_object(arguments.as_ref()))
    }
}

fn begins_object(arguments: Option<&Value>) -> bool {
    match arguments {
        Some(Value::String(text)) => text.starts_with('{'),
        Some(Value::Object(_)) => true,
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => false,
    }
}

fn arguments_text(arguments: Option<Value>) -> String {
    match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    }
}
