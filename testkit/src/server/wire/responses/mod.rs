//! OpenAI Responses.

mod read;
mod voice;

pub(super) use read::read;
pub(super) use voice::Voice;
