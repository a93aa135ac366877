//! OpenAI Chat Completions, and the many servers that are compatible with it.

mod calls;
mod request;
mod stream;

pub(super) use request::{Limit, body};
pub(super) use stream::Stream;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The name of this wire on what it must get back.
const WIRE: &str = "chat";

/// What some servers send beside a call or a message and want back there.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Extra<'a> {
    /// Of the call that follows: signatures of its reasoning.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
    /// Of the whole message: the reasoning that led to its calls.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a RawValue>,
}
