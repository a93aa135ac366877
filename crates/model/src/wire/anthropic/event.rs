//! The events of an Anthropic answer, as far as they are read.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The answer begins.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageStart {
    pub(super) message: Head,
}

/// What is known of it then.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Head {
    pub(super) model: Option<String>,
    pub(super) usage: Option<Tokens>,
}

/// What was used so far; the counts only grow.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
}

/// A block begins.
#[derive(Deserialize)]
pub(super) struct BlockStart<'a> {
    #[serde(borrow)]
    pub(super) content_block: Block<'a>,
}

/// The fields of every kind of block that is read here.
#[derive(Deserialize)]
pub(super) struct Block<'a> {
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

/// A block goes on.
#[derive(Deserialize)]
pub(super) struct BlockDelta {
    pub(super) delta: More,
}

/// The fields of every kind of piece that is read here.
#[derive(Deserialize)]
pub(super) struct More {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) partial_json: Option<String>,
}

/// The answer is about to end.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageDelta {
    pub(super) delta: Stop,
    pub(super) usage: Option<Tokens>,
}

/// Why it ends.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Stop {
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<StopDetails>,
}

/// Why, in words.
#[derive(Deserialize)]
pub(super) struct StopDetails {
    pub(super) explanation: Option<String>,
}
