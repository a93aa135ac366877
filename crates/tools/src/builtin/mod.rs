//! The built-in tools, each in two files: its code (`.rs`) and its description for the model (`.md`).

mod apply_patch;
mod ask_user;
mod create;
mod edit;
mod glob;
mod grep;
mod list_shells;
mod read_shell;
mod report_intent;
mod shell;
mod sql;
mod stop_shell;
mod view;
mod web_fetch;

pub(crate) use apply_patch::ApplyPatch;
pub(crate) use ask_user::AskUser;
pub(crate) use create::CreateTool;
pub(crate) use edit::EditTool;
pub(crate) use glob::GlobTool;
pub(crate) use grep::GrepTool;
pub(crate) use list_shells::ListShells;
pub(crate) use read_shell::ReadShell;
pub(crate) use report_intent::ReportIntent;
pub(crate) use shell::ShellTool;
pub(crate) use sql::SqlTool;
pub(crate) use stop_shell::StopShell;
pub(crate) use view::ViewTool;
pub(crate) use web_fetch::WebFetch;
