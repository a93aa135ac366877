//! Reads the tool calls that small models write as text.
//!
//! Text flows on until something shows that may begin a call; from there it is held back until it is decided. What is
//! not certainly a call stays text, byte for byte. Calls that were found wait for the end of the
//! answer: one that the length limit cut, or that calls tools in the structured form too, is left as it is.
//!
//! Every part takes one character at a time and never looks back, so the time is linear, and how the answer was cut
//! into pieces changes nothing.

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
