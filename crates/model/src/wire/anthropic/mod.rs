//! Anthropic Messages.

mod effort;
mod event;
mod request;
mod returned;
mod stream;

pub(super) use request::body;
pub(super) use stream::AnthropicStream;
