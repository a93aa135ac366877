//! OpenAI Chat Completions, as compatible servers speak it too.

mod encode;
mod read;

pub(super) use encode::ChatEncoder;
pub(super) use read::read;
