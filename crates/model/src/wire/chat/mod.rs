//! OpenAI Chat Completions, and the many servers that are compatible with it.

mod calls;
mod request;
mod returned;
mod stream;

pub(super) use request::{MaxTokensField, body};
pub(super) use stream::ChatStream;
