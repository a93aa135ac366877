//! Slash commands: one registry of what there is, and one dispatcher for whoever types or sends one.
//!
//! A command tells something, does something, or is a prompt for the model. What resolves to nothing is told without
//! asking a model. Words after a command are data: they are put into its text, and nothing in them is read again.

mod built_in;
mod dispatch;
mod expand;
mod export;
mod fleet;
mod outcome;
mod parse;
mod prompts;
mod registry;
mod reports;
mod template;

pub use built_in::TerminalCommand;
pub use expand::read;
pub use outcome::{SlashOutcome, SlashPrompt};
pub use registry::{SlashCommand, SlashLookup, SlashMatch, SlashRegistry};

pub(crate) use dispatch::SlashDispatcher;
pub(crate) use fleet::prompt as fleet_prompt;
