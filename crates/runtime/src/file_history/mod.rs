//! What tools changed in files, and going back to an earlier message of the user.

mod plan;
mod points;
mod recorder;
mod rewind;

pub(crate) use points::rewind_points;
pub(crate) use recorder::FileRecorder;
pub(crate) use rewind::{RewindError, preview_rewind, rewind};
