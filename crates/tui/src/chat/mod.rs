//! A conversation with the main agent at a terminal.
//!
//! The conversation scrolls away like the output of any command; below it, a small panel shows the status and the input
//! line.

pub mod ask_queue;
pub mod call_arguments;
pub mod call_history;
pub mod draft;
pub mod editor;
pub mod history;
pub mod inline_row;
pub mod key;
pub mod keyboard;
pub mod markdown;
pub mod panel;
pub mod prompt_surface;
pub mod screen;
pub mod setup_questions;
pub mod terminal;
pub mod text;
