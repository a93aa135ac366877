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

pub(crate) use ask_user::AskUser;

use std::sync::Arc;

use apply_patch::ApplyPatch;
use create::CreateTool;
use edit::EditTool;
use glob::GlobTool;
use grep::GrepTool;
use list_shells::ListShells;
use read_shell::ReadShell;
use report_intent::ReportIntent;
use shell::ShellTool;
use sql::SqlTool;
use stop_shell::StopShell;
use view::ViewTool;
use web_fetch::WebFetch;

use crate::Tool;
use crate::args::typed_tool;

/// The built-in tools, always in the same order: the first bytes of a request must not change from turn to turn.
pub fn builtin_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        typed_tool::<ViewTool>(),
        typed_tool::<CreateTool>(),
        typed_tool::<EditTool>(),
        typed_tool::<ApplyPatch>(),
        typed_tool::<GrepTool>(),
        typed_tool::<GlobTool>(),
        typed_tool::<ShellTool>(),
        typed_tool::<ReadShell>(),
        typed_tool::<StopShell>(),
        typed_tool::<ListShells>(),
        typed_tool::<SqlTool>(),
        typed_tool::<ReportIntent>(),
        typed_tool::<WebFetch>(),
    ]
}
