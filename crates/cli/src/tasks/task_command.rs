//! Delivers a command to the session of a task and reports the outcome.

use client::{ClientError, SessionHandle};
use host::Home;
use protocol::api::{CommandFate, CommandOutcome, RefusalKind, SessionCommand};
use protocol::{MailId, SessionId, TaskId, TaskState};
use serde::Serialize;
use tui::print;

use super::selection::SelectedTask;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::fleet;

/// The outcome of a command.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum TaskCommandOutcome {
    /// The session carried it out.
    Applied { mail: Option<MailId> },
    /// The session refused it; nothing changed.
    Refused { kind: RefusalKind, message: String },
    /// It is queued in the file of a session that no process runs.
    Kept,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskCommandReport<'a> {
    session: SessionId,
    task: TaskId,
    path: &'a str,
    outcome: &'a TaskCommandOutcome,
}

/// Delivers a command and reports the outcome.
pub(super) async fn deliver_to_task(
    home: &Home,
    chosen: &SelectedTask,
    command: impl FnOnce(TaskId) -> SessionCommand,
    json: bool,
) -> Result<CommandExit, CliError> {
    let command = command(chosen.task.id);
    if matches!(command, SessionCommand::Forget(_)) && chosen.task.kind.is_root() {
        let (path, session) = (print::sanitize(&chosen.task.path), chosen.session);
        return Err(
            CliError::usage(format!("{path} is the session itself")).with_hint(format!("bosun sessions rm {session}"))
        );
    }
    let outcome = match SessionHandle::new(home, chosen.session).give(&command).await {
        Ok(CommandFate::Answered { outcome: CommandOutcome::Applied { mail } }) => TaskCommandOutcome::Applied { mail },
        Ok(CommandFate::Answered { outcome: CommandOutcome::Refused { kind, message } }) => {
            TaskCommandOutcome::Refused { kind, message }
        }
        Ok(CommandFate::Queued | CommandFate::NothingToDo) => TaskCommandOutcome::Kept,
        Err(ClientError::NotRunning(session)) => return Err(not_running_failure(home, session, chosen)),
        Err(error) => return Err(error.into()),
    };
    if json {
        let (session, task, path) = (chosen.session, chosen.task.id, &*chosen.task.path);
        print::json(&TaskCommandReport { session, task, path, outcome: &outcome });
    }
    match &outcome {
        TaskCommandOutcome::Refused { .. } if json => Ok(CommandExit::Usage),
        TaskCommandOutcome::Refused { kind, message } => Err(refusal_failure(chosen, *kind, message)),
        TaskCommandOutcome::Applied { .. } | TaskCommandOutcome::Kept => {
            if !json {
                print_outcome(home, chosen, &command, &outcome);
            }
            Ok(CommandExit::Success)
        }
    }
}

/// The error for a command that only a running session can carry out.
fn not_running_failure(home: &Home, session: SessionId, chosen: &SelectedTask) -> CliError {
    let path = print::sanitize(&chosen.task.path);
    CliError::usage(format!("no process runs {session}, so nothing waits for {path}"))
        .with_hint(format!("resume with: {}", fleet::resume_command(home, session)))
}

fn print_outcome(home: &Home, chosen: &SelectedTask, command: &SessionCommand, outcome: &TaskCommandOutcome) {
    let path = print::sanitize(&chosen.task.path);
    let verb = match command {
        SessionCommand::Send(_) => "received the message",
        SessionCommand::StopTask(_) if matches!(chosen.task.state, TaskState::Finished { .. }) => "had already ended",
        SessionCommand::StopTask(params) if params.how == protocol::CancelMode::Abort => "is stopped",
        SessionCommand::StopTask(_) if !chosen.task.kind.takes_last_turn() => "is stopped",
        SessionCommand::StopTask(_) => "stops after a last turn",
        SessionCommand::Promote(_) => "continues in the background",
        SessionCommand::Forget(_) => "is removed",
        SessionCommand::Interrupt
        | SessionCommand::Stop
        | SessionCommand::StopFleet
        | SessionCommand::Decide(_)
        | SessionCommand::SetMode(_) => "was notified",
    };
    match outcome {
        TaskCommandOutcome::Applied { mail: Some(mail) } if matches!(command, SessionCommand::Send(_)) => {
            print::output(format_args!("{path} {verb}: {mail}"));
        }
        // Any other mail is the message that tells the parent of the task's end.
        TaskCommandOutcome::Applied { .. } => print::output(format_args!("{path} {verb}")),
        // No view shows the task any more, although only the next owner removes it.
        TaskCommandOutcome::Kept if matches!(command, SessionCommand::Forget(_)) => {
            print::output(format_args!("{path} {verb}"))
        }
        TaskCommandOutcome::Kept => {
            print::output(format_args!("queued for {path}"));
            let command = fleet::resume_command(home, chosen.session);
            print::note(format_args!("no process runs the session; resume with: {command}"));
        }
        TaskCommandOutcome::Refused { .. } => {}
    }
}

/// A refusal with a hint on what to do next.
fn refusal_failure(chosen: &SelectedTask, kind: RefusalKind, message: &str) -> CliError {
    let path = print::shell_quote(&print::sanitize(&chosen.task.path));
    // The session's message names ids; the user sees paths.
    let message = message.replace(&format!("task {}", chosen.task.id), &chosen.task.path);
    let failure = CliError::usage(print::sanitize(&message));
    match kind {
        RefusalKind::Ended => failure.with_hint(format!("see its output: bosun tasks output {path}")),
        RefusalKind::NotEnded => failure.with_hint(format!("bosun tasks stop {path}")),
        RefusalKind::Stopping => failure.with_hint(format!("stop it now: bosun tasks stop {path} --now")),
        RefusalKind::NoInbox => failure.with_hint(format!("see its output: bosun tasks output {path}")),
        RefusalKind::NotAwaited | RefusalKind::NotRootChild => {
            failure.with_hint(format!("see its state: bosun tasks show {path}"))
        }
        RefusalKind::NoTask
        | RefusalKind::Closed
        | RefusalKind::Limit
        | RefusalKind::NoAsk
        | RefusalKind::Invalid
        | RefusalKind::NoRule
        | RefusalKind::Unverified
        | RefusalKind::Hook
        | RefusalKind::State
        | RefusalKind::NoSession
        | RefusalKind::NoItem
        | RefusalKind::Unknown => failure.with_hint("`bosun tasks` shows the current state"),
    }
}
