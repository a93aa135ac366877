//! The wire: one JSON object a line in both directions, bounded both ways.

mod control;
mod lines;
mod shrink;
mod writer;

pub(super) use control::Control;
pub(super) use lines::{LINE_MAX, Lines, WireError};
pub(super) use writer::{Gone, Writer};
