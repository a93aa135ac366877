//! Session files where the Claude SDK expects them: the messages of a session, one JSON object per line, and a separate
//! file for every agent below the root.
//!
//! They are derived from the session's log, so a file left by a killed adapter is continued without missing or
//! duplicate entries. Bosun itself reads them only to continue them.

mod entry;
mod event_part;
mod file;
mod mirror;
mod paths;
mod writer;

pub(in crate::claude) use event_part::EventPart;
pub(in crate::claude) use mirror::TranscriptMirror;
pub(in crate::claude) use paths::projects_dir;
pub(in crate::claude) use writer::ClaudeTranscripts;
