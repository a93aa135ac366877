//! Slash commands: one registry of what there is, and one dispatcher for whoever types or sends one.
//!
//! A command tells something, does something, or is a prompt for the model. What resolves to nothing is told without
//! asking a model. Words after a command are data: they are put into its text, and nothing in them is read again.

mod ask;
mod built_in;
mod dispatch;
mod expand;
mod fleet;
mod outcome;
mod parse;
mod registry;
mod share;
mod tell;
mod template;

pub use built_in::Screen;
pub use expand::read;
pub use outcome::{Outcome, Prompt};
pub use registry::{Found, Looked, Registry, Slash};

pub(crate) use dispatch::Dispatcher;
pub(crate) use fleet::prompt as fleet_prompt;
