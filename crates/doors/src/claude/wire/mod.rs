//! The wire: one JSON object a line in both directions, bounded both ways.

mod control;
mod lines;
mod shrink;
mod writer;

pub use control::Control;
pub use lines::{LINE_MAX, Lines, WireError};
pub use writer::{FRAME_MAX, Gone, Unsent, Writer};
