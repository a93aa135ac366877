//! The wire format: one JSON object per line, bounded in both directions.

mod control;
mod lines;
mod shrink;
mod writer;

pub(super) use control::ControlChannel;
pub(super) use lines::{JsonLineReader, LINE_MAX, WireError};
pub(super) use writer::{ClientGone, ClientWriter};
