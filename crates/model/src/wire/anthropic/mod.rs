//! Anthropic Messages.

mod effort;
mod event;
mod kept;
mod request;
mod stream;

pub(super) use request::body;
pub(super) use stream::Stream;
