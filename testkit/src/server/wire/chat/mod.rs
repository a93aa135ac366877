//! OpenAI Chat Completions, as compatible servers speak it too.

mod read;
mod voice;

pub(super) use read::read;
pub(super) use voice::Voice;
