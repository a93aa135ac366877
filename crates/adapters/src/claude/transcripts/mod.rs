//! Session files where the family's own functions look for them: what was said in a session, one JSON object a line, and
//! a file of its own for every agent below it.
//!
//! They are written from the session's log, so that a file that a killed adapter left behind is gone on with: nothing is
//! missing, and nothing is there twice. Nobody here reads them but for that.

mod entry;
mod event_part;
mod file;
mod paths;
mod writer;

pub(in crate::claude) use paths::projects_dir;
pub(in crate::claude) use writer::ClaudeTranscripts;
