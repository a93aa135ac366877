//! Shell commands of the user. They need nobody's permission, but what a rule denies stays denied.

use std::path::{Path, PathBuf};

use kernel::KernelInput;
use policy::{Verdict, VerdictBasis};
use protocol::api::RunShellParams;
use protocol::text::shell_quote;
use protocol::{Hinted, RuleEffect, TaskId, tool_name};
use tools::ToolError;

use crate::permission_check;
use crate::prepared_agent::PrepareAgentError;
use crate::session_context::SessionContext;
use crate::spawn::SpawnBuilder;
use crate::supervisor::{InputRejection, Supervisor};
use crate::task_workspaces::TaskWorkspaceError;

/// Why a command of the user does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserShellError {
    #[error("there is no folder {}", .0.display())]
    NoFolder(PathBuf),
    #[error("the command is denied: {0}")]
    Denied(String),
    #[error(transparent)]
    Unreadable(ToolError),
    #[error(transparent)]
    Agent(#[from] PrepareAgentError),
    #[error(transparent)]
    Workspace(#[from] TaskWorkspaceError),
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

impl Hinted for UserShellError {
    fn hint(&self) -> Option<String> {
        match self {
            UserShellError::Workspace(error) => error.hint(),
            UserShellError::NoFolder(_)
            | UserShellError::Denied(_)
            | UserShellError::Unreadable(_)
            | UserShellError::Agent(_)
            | UserShellError::Rejected(_) => None,
        }
    }
}

/// Starts a command as a task of the root, and returns the task.
pub(crate) async fn run(
    context: &SessionContext,
    supervisor: &Supervisor,
    root: TaskId,
    params: RunShellParams,
) -> Result<TaskId, UserShellError> {
    let RunShellParams { command, cwd } = params;
    let (agent, workspace) = (context.prepared_agent(root)?, context.task_workspace(root)?);
    let text = match cwd {
        Some(folder) => in_folder(&workspace.cwd().join(folder), &command)?,
        None => command.clone(),
    };
    let verdict =
        permission_check::judge_command(&context.workplace, &agent, &workspace, tool_name::SHELL, &text).await;
    let verdict = verdict.map_err(UserShellError::Unreadable)?;
    if is_denied(&verdict) {
        return Err(UserShellError::Denied(verdict.reason()));
    }
    let spawn = SpawnBuilder::user_shell(text).describe(&command).build(context);
    let task = spawn.id;
    supervisor.submit(KernelInput::Spawn(spawn)).await?;
    Ok(task)
}

/// The command, run in a folder that exists.
fn in_folder(folder: &Path, command: &str) -> Result<String, UserShellError> {
    if !folder.is_dir() {
        return Err(UserShellError::NoFolder(folder.to_owned()));
    }
    // On a line of its own, so that the command may be anything.
    Ok(format!("cd -- {} || exit\n{command}", shell_quote(&folder.to_string_lossy())))
}

/// Whether a rule denies the command, or it would reach files that control Bosun. What needs a decision of the user has
/// it: the user runs the command.
fn is_denied(verdict: &Verdict) -> bool {
    let is_of_rule = |verdict: &Verdict| match &verdict.basis {
        VerdictBasis::Rule(_) | VerdictBasis::Possible(_) | VerdictBasis::Controls => {
            verdict.effect == RuleEffect::Deny
        }
        VerdictBasis::Mode(_)
        | VerdictBasis::Overruled(..)
        | VerdictBasis::ReadOnly
        | VerdictBasis::Outside
        | VerdictBasis::Unclear(_)
        | VerdictBasis::Private
        | VerdictBasis::AgentRole
        | VerdictBasis::Hook(_) => false,
    };
    is_of_rule(verdict) || verdict.others.iter().any(is_of_rule)
}
