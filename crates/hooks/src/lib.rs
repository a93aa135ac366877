//! Hooks: programs and addresses that are told what happens, and may say no.
//!
//! [`read`] makes hooks of the files of both families, and a problem of everything in them that cannot be one. A
//! [`Runner`] tells hooks of an [`Occasion`] in the words of their own family, and makes one [`Verdict`] of what they
//! answer. A hook that breaks costs no more than its deadline: it is killed with everything it started, and what that
//! means was written with it.

#![deny(missing_docs)]

mod answer;
mod event;
mod hook;
pub mod names;
mod occasion;
mod payload;
mod problem;
mod program;
mod read;
mod run;
mod said;
mod verdict;

pub use event::{is_served, named};
pub use hook::{Hook, Hooks};
pub use occasion::{About, Agent, ItemStep, ItemTold, Occasion, Origin, ToolUse};
pub use problem::{Position, Problem};
pub use program::program_digest;
pub use read::{Place, disables_all, read, read_value};
pub use run::{Driver, Runner, Ways};
pub use verdict::{RuleUpdate, RuleUpdateKind, Ruling, Verdict};
