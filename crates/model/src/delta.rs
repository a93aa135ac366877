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
    /// The bytes that it counts towards the limit, with a minimum so that a flood of empty deltas reaches the limit too.
    pub(crate) fn counted_bytes(&self) -> usize {
        const MIN_BYTES: usize = 16;
        MIN_BYTES
            + match self {
                Delta::Text(text) | Delta::Thinking(text) => text.len(),
                Delta::Call(call) => call.id.0.len() + call.tool.len() + call.input.len(),
                Delta::Opaque { provider, json } => provider.len() + json.len(),
                Delta::Done { model, .. } => model.len(),
            }
    }
}
