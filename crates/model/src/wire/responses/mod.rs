//! OpenAI Responses.

mod request;
mod stream;

pub(super) use request::body;
pub(super) use stream::Stream;

/// The name of this wire on what it must get back.
const WIRE: &str = "responses";

/// The one thing that goes back and is no item of its own: what a message was for.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Phase<'a> {
    #[serde(borrow)]
    phase: std::borrow::Cow<'a, str>,
}
