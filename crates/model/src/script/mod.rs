//! `script`: a deterministic model read from a YAML file.
//!
//! An answer depends only on the file and the request, so a resumed session continues as if it had never stopped, and a
//! test sees the same run every time.

mod answer;
mod conditions;
mod error;
mod estimate;
mod fail;
mod file;
mod given;
mod input;
mod model;
mod pattern;
mod playback;
mod rule;
mod scope;
mod step;
mod template;
mod timing;

pub use error::ScriptError;
pub use file::{SCRIPT_SCHEMA, generate_script_schema};
pub use given::without_null;
pub use model::ScriptModel;
