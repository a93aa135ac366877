//! Decides whether a tool call may run: rules, modes, and what a shell command would start. It has no side effects:
//! paths come in resolved, and a question for the user goes out as a verdict.
//!
//! Rules are a seat belt, not a wall: a program that may run can do whatever its user can.

#![deny(missing_docs)]

mod address;
mod controls;
mod decide;
mod explain;
mod fold;
pub mod gitconfig;
mod pattern;
mod policy;
mod readonly;
mod request;
mod request_text;
mod role;
mod rule;
mod suggest;
mod verdict;

pub use address::is_public;
pub use controls::may_match;
pub use explain::{Explanation, allow_flag, allow_flags};
pub use policy::Policy;
pub use request::{FilesystemFacts, PermissionRequest, RequestedAct};
pub use request_text::RequestParseError;
pub use role::AgentRole;
pub use rule::{Rule, RuleError, RuleSource};
pub use verdict::{Verdict, VerdictBasis};
