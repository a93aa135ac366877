//! Data that some servers send with a call or a message and require back with it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The name of this wire format in opaque blocks.
pub(super) const WIRE: &str = "chat";

/// Data to send back with a call or a message.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ReturnedExtra<'a> {
    /// For the call that follows: signatures of its reasoning.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<&'a RawValue>,
    /// For the whole message: the reasoning that led to its calls.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<&'a RawValue>,
}

impl<'a> ReturnedExtra<'a> {
    /// The data of a call.
    pub(super) fn of_call(content: &'a RawValue) -> Option<String> {
        serde_json::to_string(&ReturnedExtra { extra_content: Some(content), reasoning_content: None }).ok()
    }

    /// The reasoning of a message.
    pub(super) fn of_message(reasoning: &str) -> Option<String> {
        let reasoning = serde_json::value::to_raw_value(reasoning).ok()?;
        serde_json::to_string(&ReturnedExtra { extra_content: None, reasoning_content: Some(&reasoning) }).ok()
    }
}
