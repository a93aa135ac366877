//! OpenAI Chat Completions, and the many servers that are compatible with it.

mod calls;
mod extra;
mod request;
mod stream;

pub(super) use request::{Limit, body};
pub(super) use stream::Stream;
