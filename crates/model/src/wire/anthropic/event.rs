//! The events of an Anthropic answer, with the fields that are read.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The answer begins.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageStart {
    pub(super) message: MessageStartBody,
}

/// The message at its start.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageStartBody {
    pub(super) model: Option<String>,
    pub(super) usage: Option<AnthropicUsage>,
}

/// The tokens used so far; the counts only grow.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AnthropicUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
}

/// A block begins.
#[derive(Deserialize)]
pub(super) struct BlockStart<'a> {
    #[serde(borrow)]
    pub(super) content_block: AnthropicBlock<'a>,
}

/// The fields of all kinds of blocks that are read.
#[derive(Deserialize)]
pub(super) struct AnthropicBlock<'a> {
    pub(super) r#type: String,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) data: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// A block continues.
#[derive(Deserialize)]
pub(super) struct BlockDelta {
    pub(super) delta: BlockDeltaBody,
}

/// The fields of all kinds of deltas that are read.
#[derive(Deserialize)]
pub(super) struct BlockDeltaBody {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) partial_json: Option<String>,
}

/// The answer is about to end.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageDelta {
    pub(super) delta: MessageDeltaBody,
    pub(super) usage: Option<AnthropicUsage>,
}

/// Why it ends.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageDeltaBody {
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<StopDetails>,
}

/// The explanation.
#[derive(Deserialize)]
pub(super) struct StopDetails {
    pub(super) explanation: Option<String>,
}
