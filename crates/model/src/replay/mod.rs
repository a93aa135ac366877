//! `replay`: a model that answers from a recording, and the recorder that makes one.
//!
//! A recording is a file of JSON lines: a header, then one line per answer. An answer is found by the task's path and
//! its turn, and used only if the conversation is the recorded one.

mod error;
mod identity;
mod line;
mod model;
mod recorder;

pub use error::RecordingError;
pub use model::ReplayModel;
pub use recorder::RecordingModel;
