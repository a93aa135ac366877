//! What of an answer goes back as it came.

use serde::Serialize;

/// The name of this wire on what it must get back.
pub(super) const WIRE: &str = "anthropic";

/// What must go back, in the form that the provider wants it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ReturnedThinking<'a> {
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
}
