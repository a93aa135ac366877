//! The pieces an answer arrives in.

use protocol::{StopReason, ToolCallRequest, Usage};

/// One piece of an answer, in the order of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// More text for the reader.
    Text(String),
    /// More of the model's reasoning.
    Thinking(String),
    /// A whole tool call.
    Call(ToolCallRequest),
    /// Data that its provider must get back byte for byte.
    Opaque {
        /// Which wire it belongs to.
        provider: String,
        /// The item's JSON, untouched.
        json: String,
    },
    /// The answer is complete; nothing follows.
    Done {
        /// Why the model stopped.
        stop: StopReason,
        /// The tokens it used.
        usage: Usage,
        /// The model that answered, as its provider named it.
        model: String,
    },
}

impl Delta {
    /// The bytes it counts for, with a minimum so that a flood of empty deltas hits the limit too.
    pub(crate) fn bytes(&self) -> usize {
        const EACH: usize = 16;
        EACH + match self {
            Delta::Text(text) | Delta::Thinking(text) => text.len(),
            Delta::Call(call) => call.id.0.len() + call.tool.len() + call.input.len(),
            Delta::Opaque { provider, json } => provider.len() + json.len(),
            Delta::Done { model, .. } => model.len(),
        }
    }
}
