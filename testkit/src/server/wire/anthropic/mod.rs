//! Anthropic Messages.

mod encode;
mod read;

pub(super) use encode::AnthropicEncoder;
pub(super) use read::read;
