//! What a model can call: the everyday tools, and what each of them may touch.
//!
//! A tool is two files of `everyday`: `grep.rs` (arguments, run, output) and `grep.md` (what the model is told). Its
//! input is whatever text a model wrote; its output is bounded by type. A call ends in an output, in a refusal the
//! model can act on, or in a failure of the tool itself; it never panics, never blocks the runtime's threads and
//! leaves no process behind. What tools need from above (SQL tables, background commands) are the traits of `seams`.

#![deny(missing_docs)]

mod args;
mod capture;
mod context;
mod crew;
mod environment;
mod everyday;
mod helm;
mod launch;
mod list;
mod page;
mod patch;
mod place;
mod pulse;
mod refusal;
mod seams;
mod spool;
mod stamps;
mod text;
mod tool;
mod toolbox;
mod walk;

pub use capture::Capture;
pub use context::{Context, Limits, Place};
pub use launch::{ShellCommand, follow, full_shell, launch};
pub use pulse::{Pulse, Resting};
pub use seams::{
    AgentOrder, Asker, Background, BackgroundCommand, BackgroundRead, BackgroundRow, Crew, Helm, Intent, ItemEdit,
    ItemOrder, Lists, PlanOrder, Question, Reach, ReadOrder, Readers, SqlSpace, UntilOrder, Use, Wait, WaitOrder,
    WriteOrder,
};
pub use spool::Spool;
pub use stamps::Stamps;
pub use tool::{Access, BoxFuture, Need, Output, Spec, Tool, ToolError};
pub use toolbox::{ask_user, autopilot, crew, everyday, list, plan, skill, task, tool_search};
pub use walk::{Listed, ListedKind, each_file, list_workspace};
