//! The parts of an answer that are sent back unchanged.

use serde::Serialize;

/// The name of this wire format in opaque blocks.
pub(super) const WIRE: &str = "anthropic";

/// A block to send back, in the provider's format.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ReturnedThinking<'a> {
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
}
