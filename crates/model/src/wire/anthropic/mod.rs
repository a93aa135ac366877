//! Anthropic Messages.

mod effort;
mod event;
mod request;
mod stream;

pub(super) use request::body;
pub(super) use stream::Stream;

/// The name of this wire on what it must get back.
const WIRE: &str = "anthropic";
