//! Slash commands: one registry and one dispatcher for all sources.
//!
//! A command shows text, performs an action, or becomes a prompt for the model. An unknown command is reported without
//! a model request. Arguments are data: they are inserted into the command's text, and never expanded again.

mod built_in;
mod compact;
mod dispatch;
mod error;
mod expand;
mod export;
mod mcp;
mod outcome;
mod parse;
mod prompts;
mod registry;
mod reports;
mod rewind;
mod template;

pub use expand::read;
pub use outcome::{SlashOutcome, SlashPrompt};
pub use registry::{SlashCommand, SlashLookup, SlashMatch, SlashRegistry};

pub(crate) use dispatch::SlashDispatcher;
