//! The wire: one JSON object a line in both directions, bounded both ways.

mod control;
mod lines;
mod shrink;
mod writer;

pub(super) use control::ControlChannel;
pub(super) use lines::{JsonLineReader, LINE_MAX, WireError};
pub(super) use writer::{ClientGone, ClientWriter};
