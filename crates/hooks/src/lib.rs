//! Hooks: programs and addresses that are told what happens, and may say no.
//!
//! [`read`] makes hooks of the files of both families, and a problem of everything in them that cannot be one. A
//! [`HookRunner`] tells hooks of an [`HookEventData`] in the words of their own family, and makes one [`Verdict`] of what they
//! answer. A hook that breaks costs no more than its deadline: it is killed with everything it started, and what that
//! means was written with it.

#![deny(missing_docs)]

mod answer_scanner;
mod event;
mod event_data;
mod hook;
mod output_parser;
mod payload;
mod problem;
mod program;
mod read;
mod run;
pub mod tool_names;
mod verdict;

pub use event::{event_by_name, is_supported_event};
pub use event_data::{HookAgent, HookContext, HookEventData, HookItem, ItemStep, SessionOrigin, ToolUse};
pub use hook::{Hook, HookSet};
pub use problem::{HookProblem, TextPosition};
pub use program::program_digest;
pub use read::{HookFileLocation, disables_all, read, read_value};
pub use run::{ClientHookCaller, HookRunner, HookRunnerConfig};
pub use verdict::{HookVerdict, RuleUpdate, RuleUpdateKind, Ruling};
