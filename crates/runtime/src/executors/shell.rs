//! Runs background commands in this process. Their output goes to a bounded spool on disk.

use std::sync::Arc;
use std::time::Duration;

use client::command_output;
use host::{ExitStatus, WaitError};
use kernel::{BoundaryPoint, RunEnding, RunUpdate};
use protocol::{Event, FailKind, Hinted, MailBody, TaskId};
use store::StoreError;
use tools::{BoxFuture, ShellCommand, ToolError};

use super::Executor;
use crate::run_requests::{LocalSession, TaskProfile};
use crate::session_context::SessionContext;
use crate::spools::SpoolWriter;
use crate::supervisor::{InputRejection, RunLink};
use crate::task_workspaces::{self, TaskWorkspace, TaskWorkspaceError};

/// Maximum bytes of a command's output in its result.
const MAX_RESULT_BYTES: usize = 8 * 1024;

/// Runs background commands.
#[derive(Debug)]
pub(super) struct ShellExecutor(pub(super) Arc<SessionContext>);

impl Executor for ShellExecutor {
    fn run(&self, link: RunLink) -> BoxFuture<'static, ()> {
        let context = Arc::clone(&self.0);
        Box::pin(async move { run_command(&context, &link, CommandRepetition::Once).await })
    }
}

/// How often a command runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum CommandRepetition {
    /// Once.
    Once,
    /// Until it exits with code 0, with a pause between two runs.
    UntilSuccess { pause: Duration },
}

/// Runs the command of a task to its end. Dropping the future kills the command and everything it started.
pub(super) async fn run_command(context: &Arc<SessionContext>, link: &RunLink, repetition: CommandRepetition) {
    if let Err(rejected) = run_task(context, link, repetition).await {
        tracing::info!(run = %link.run, %rejected, "the command stops");
    }
}

async fn run_task(
    context: &Arc<SessionContext>,
    link: &RunLink,
    repetition: CommandRepetition,
) -> Result<(), InputRejection> {
    link.supervisor.report(link.run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)).await?;
    let workspace = prepare_workspace(context, link).await;
    let prepared = workspace.and_then(|workspace| Ok((workspace, read_command(context, link.run.task)?)));
    let (ending, note) = match prepared {
        Ok((workspace, command)) => execute(context, &workspace, link.run.task, &command, repetition).await,
        Err(error) => (RunEnding::Failed { kind: FailKind::Internal, message: error.in_one_line() }, None),
    };
    let mut text =
        command_output(&context.facts.home, context.facts.session, link.run.task, MAX_RESULT_BYTES).into_string();
    if let Some(note) = note.filter(|note| !text.contains(note.trim())) {
        text.push_str(&note);
    }
    link.supervisor.report(link.run, RunUpdate::Ended { ending, text }).await
}

/// Why a background command does not start.
#[derive(Debug, thiserror::Error)]
enum PrepareCommandError {
    #[error("unknown task {0}")]
    UnknownTask(TaskId),
    #[error(transparent)]
    Workspace(#[from] TaskWorkspaceError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the task has no command")]
    NoCommand,
}

impl Hinted for PrepareCommandError {
    fn hint(&self) -> Option<String> {
        match self {
            PrepareCommandError::Workspace(error) => error.hint(),
            PrepareCommandError::UnknownTask(_) | PrepareCommandError::Store(_) | PrepareCommandError::NoCommand => {
                None
            }
        }
    }
}

/// Why it is unknown how a command ended.
#[derive(Debug, thiserror::Error)]
enum CommandRunError {
    #[error("could not start: {0}")]
    NotStarted(ToolError),
    #[error(transparent)]
    StatusUnknown(#[from] WaitError),
}

async fn prepare_workspace(
    context: &Arc<SessionContext>,
    link: &RunLink,
) -> Result<Arc<TaskWorkspace>, PrepareCommandError> {
    let (session, task) = (LocalSession::of_link(Arc::clone(context), link), link.run.task);
    let profile = TaskProfile::of(context, task).map_err(|_unknown| PrepareCommandError::UnknownTask(task))?;
    task_workspaces::ensure_workspace(&context.workplace, &profile, &session).await?;
    Ok(context.task_workspace(task)?)
}

/// The command, which is the task's first mail.
fn read_command(context: &SessionContext, task: TaskId) -> Result<String, PrepareCommandError> {
    let log = context.log.reader()?.task_events(task)?;
    let first = log.into_iter().find_map(|envelope| match envelope.entry.event {
        Event::MailAdmitted { body: MailBody::Text { text, .. }, .. } => Some(text),
        _other => None,
    });
    first.ok_or(PrepareCommandError::NoCommand)
}

/// Runs the command as often as needed; returns how it ended and a note about output that was not stored.
async fn execute(
    context: &SessionContext,
    workspace: &TaskWorkspace,
    task: TaskId,
    command: &str,
    repetition: CommandRepetition,
) -> (RunEnding, Option<String>) {
    let failed = |message: String| RunEnding::Failed { kind: FailKind::Exit, message };
    let folder = context.facts.home.spool_dir(context.facts.session, task);
    let mut spool = match context.spools.open(&folder) {
        Ok(spool) => spool,
        Err(error) => return (failed(format!("cannot store its output: {error}")), None),
    };
    let memory = context.facts.tools.command_memory_bytes;
    let command = ShellCommand { command, cwd: workspace.cwd(), env: &workspace.env, memory_bytes: memory };
    let mut write_error = None;
    let exit = loop {
        let exit = run_once(context, command, &mut spool, &mut write_error).await;
        match (repetition, &exit) {
            (CommandRepetition::UntilSuccess { .. }, Ok(ExitStatus::Code(0)) | Err(_))
            | (CommandRepetition::Once, _) => {
                break exit;
            }
            (CommandRepetition::UntilSuccess { pause }, Ok(ExitStatus::Code(_) | ExitStatus::Signal(_))) => {
                tokio::time::sleep(pause).await;
            }
        }
    };
    let ending = match (exit, write_error) {
        (Err(error), _) => failed(error.to_string()),
        (Ok(ExitStatus::Code(0)), None) => RunEnding::Completed,
        (Ok(ExitStatus::Code(0)), Some(error)) => failed(format!("could not store all of its output: {error}")),
        (Ok(status @ (ExitStatus::Code(_) | ExitStatus::Signal(_))), _) => failed(status.to_string()),
    };
    (ending, spool.cutoff_note().map(str::to_owned))
}

/// Runs the command once, and appends its output to the spool. Keeps the first error of a write.
async fn run_once(
    context: &SessionContext,
    command: ShellCommand<'_>,
    spool: &mut SpoolWriter<'_>,
    write_error: &mut Option<std::io::Error>,
) -> Result<ExitStatus, CommandRunError> {
    let launched = tools::launch(&context.workplace.guardian, command).await;
    let mut process = launched.map_err(CommandRunError::NotStarted)?;
    let mut write = |bytes: &[u8]| {
        if let Err(error) = spool.write(bytes) {
            write_error.get_or_insert(error);
        }
    };
    let mut stream = context.workplace.redactor.stream();
    let exit = tools::follow(&mut process, |bytes| write(&stream.push(bytes))).await;
    write(&stream.finish());
    Ok(exit?.status)
}
