//! Parses tool calls that small models write as text.
//!
//! Text is passed on until something looks like the start of a call; from there it is held back until it is decided.
//! What is not certainly a call stays text, byte for byte. Calls wait for the end of the answer: an answer that was
//! truncated, or that also contains structured calls, is left as it is.
//!
//! Every part processes one character at a time and never looks back, so the time is linear, and the division of the
//! answer into deltas makes no difference.

mod call;
mod candidate;
mod code_block;
mod delta_buffer;
mod function_tag;
mod json;
mod mark;
mod model;
mod parser;
mod quoted_string;
mod reader;
mod thought;

pub use model::LenientModel;
