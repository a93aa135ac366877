//! OpenAI Responses.

mod encode;
mod read;

pub(super) use encode::ResponsesEncoder;
pub(super) use read::read;
