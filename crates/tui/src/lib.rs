//! Bosun at a terminal: the conversation, the live view of a fleet, and what all output has in common: colours, escaping
//! of untrusted text, formats of money and times, Markdown and diffs.
//!
//! It is a client: it reaches sessions through `client` alone, so that an SDK can do whatever the screen can.

#![deny(missing_docs)]

pub mod background_names;
pub mod chat;
pub mod countdown;
pub mod escape;
pub mod event_text;
pub mod fleet_notes;
pub mod inline_markdown;
pub mod live;
pub mod money;
pub mod print;
pub mod signals;
pub mod style;
pub mod terminal_settings;
pub mod time;
pub mod todo_mark;
pub mod usage_summary;
