//! The expectation that a command exits with code 0.

use std::sync::Arc;

use host::{Capture, ExitStatus, ProgramExit};
use protocol::{Clip, Hinted, Refusal, RuleEffect, RunId};
use tools::{ShellCommand, ToolError};

use super::ExpectationCheck;
use crate::hooks::{self, HookDenial};
use crate::permission_check;
use crate::prepared_agent::PrepareAgentError;
use crate::prompt;
use crate::session_context::{SessionContext, Workplace};
use crate::task_workspaces::TaskWorkspace;

/// Maximum bytes of output held in memory.
const MAX_HELD_BYTES: usize = 64 * 1024;

/// Maximum bytes of output shown to an agent.
const MAX_SHOWN_BYTES: usize = 4 * 1024;

/// Why it cannot be checked whether a command succeeds.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckCommandError {
    #[error("the check command `{command}` may not run: {source}")]
    DeniedByHook { command: Clip, source: HookDenial },
    #[error("the check command `{command}` may not run: {reason}")]
    DeniedByRule { command: Clip, reason: String },
    /// The session, which may be in another process, does not let it run.
    #[error("{0}")]
    NotAdmitted(Refusal),
    #[error(transparent)]
    Agent(#[from] PrepareAgentError),
    #[error(transparent)]
    Undecided(ToolError),
    #[error("`{command}` cannot be run: {source}")]
    NotRun { command: Clip, source: ToolError },
}

impl Hinted for CheckCommandError {
    fn hint(&self) -> Option<String> {
        match self {
            CheckCommandError::Agent(error) => error.hint(),
            CheckCommandError::NotAdmitted(refusal) => refusal.hint.clone(),
            CheckCommandError::DeniedByHook { .. }
            | CheckCommandError::DeniedByRule { .. }
            | CheckCommandError::Undecided(_)
            | CheckCommandError::NotRun { .. } => None,
        }
    }
}

impl ExpectationCheck<'_> {
    /// Runs the command and returns how it failed, or `None` if it succeeded.
    pub(super) async fn check_command(self, command: &str) -> Result<Option<String>, CheckCommandError> {
        let admitted = self.session.admit_check(command.to_owned()).await;
        let admitted = admitted.map_err(CheckCommandError::NotAdmitted)?;
        run_check(self.workplace, self.workspace, command, &admitted).await
    }
}

/// Checks a command in a workspace other than the run's.
pub(crate) async fn check_command_at(
    context: &Arc<SessionContext>,
    run: RunId,
    workspace: &Arc<TaskWorkspace>,
    command: &str,
) -> Result<Option<String>, CheckCommandError> {
    let admitted = admit_command(context, run, workspace, command).await?;
    run_check(&context.workplace, workspace, command, &admitted).await
}

/// The command as hooks change it, or why it may not run. It was part of the call that started the task, so permission
/// for that call covers it unless a rule denies it. Hooks run as for any other command.
pub(crate) async fn admit_command(
    context: &Arc<SessionContext>,
    run: RunId,
    workspace: &Arc<TaskWorkspace>,
    command: &str,
) -> Result<String, CheckCommandError> {
    let shown = Clip::new(command, 200);
    let command = match hooks::check_command(context, run, command).await {
        Ok(command) => command,
        Err(source) => return Err(CheckCommandError::DeniedByHook { command: shown, source }),
    };
    let task = run.task;
    let parent = context.log.roster.with_task(task, |known| known.spec.parent).flatten().unwrap_or(task);
    let (prepared, tool) = (context.prepared_agent(parent)?, protocol::tool_name::TASK);
    let verdict = permission_check::judge_command(&context.workplace, &prepared, workspace, tool, &command).await;
    let verdict = verdict.map_err(CheckCommandError::Undecided)?;
    match verdict.effect {
        RuleEffect::Deny => Err(CheckCommandError::DeniedByRule { command: shown, reason: verdict.reason() }),
        RuleEffect::Allow | RuleEffect::Ask => Ok(command),
    }
}

/// Runs an admitted command and returns how it failed.
async fn run_check(
    workplace: &Workplace,
    workspace: &TaskWorkspace,
    requested: &str,
    command: &str,
) -> Result<Option<String>, CheckCommandError> {
    let shown = Clip::new(requested, 200);
    let mut capture = Capture::new(MAX_HELD_BYTES);
    let limit = workplace.facts.tools.max_shell_timeout;
    let ending = match tokio::time::timeout(limit, run_command(workplace, workspace, command, &mut capture)).await {
        Ok(Ok(ProgramExit { status: ExitStatus::Code(0), .. })) => return Ok(None),
        Ok(Ok(ProgramExit { status, .. })) => status.to_string(),
        Ok(Err(source)) => return Err(CheckCommandError::NotRun { command: shown, source }),
        Err(_late) => format!("killed after {} s", limit.as_secs()),
    };
    let output = capture.text(MAX_SHOWN_BYTES);
    let printed = match output.as_str().trim() {
        "" => "it printed nothing".to_owned(),
        _some => format!("it printed:\n{}", prompt::quote(output.as_str())),
    };
    Ok(Some(format!("- `{shown}` must exit with code 0, and did not ({ending}); {printed}")))
}

/// Runs the command to its end. Dropping the future kills the command and everything it started.
async fn run_command(
    workplace: &Workplace,
    workspace: &TaskWorkspace,
    command: &str,
    capture: &mut Capture,
) -> Result<ProgramExit, ToolError> {
    let memory = workplace.facts.tools.command_memory_bytes;
    let command = ShellCommand { command, cwd: workspace.cwd(), env: &workspace.env, memory_bytes: memory };
    let mut process = tools::launch(&workplace.guardian, command).await?;
    let mut stream = workplace.redactor.stream();
    let exit = tools::follow(&mut process, |bytes| capture.push(&stream.push(bytes))).await;
    capture.push(&stream.finish());
    exit.map_err(ToolError::failed)
}
