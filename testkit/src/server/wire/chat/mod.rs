//! OpenAI Chat Completions, which compatible servers also use.

mod encode;
mod read;

pub(super) use encode::ChatEncoder;
pub(super) use read::read;
