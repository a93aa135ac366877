//! Hooks: programs and URLs that are notified of events, and may deny them.
//!
//! [`read`] reads hooks from Copilot's and Claude's files, and reports a problem for everything it cannot use. A
//! [`HookRunner`] sends a [`HookEventData`] to hooks in their own dialect, and combines their answers into one
//! [`HookVerdict`]. A hook that hangs costs no more than its timeout: it is killed with everything it started, and its
//! failure policy decides what that means.

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
pub use event_data::{HookAgent, HookContext, HookEventData, HookItem, ItemStep, McpToolUse, SessionOrigin, ToolUse};
pub use hook::{Hook, HookSet};
pub use problem::{HookProblem, TextPosition};
pub use program::program_digest;
pub use read::{HookFileLocation, disables_all, read, read_value};
pub use run::{ClientHookCaller, HookRunner, HookRunnerConfig};
pub use verdict::{HookVerdict, McpRequestMeta, RuleUpdate, RuleUpdateKind, Ruling};
