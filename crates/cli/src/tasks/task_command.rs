//! A command reaches the session of a task, and what became of it is told.

use host::Home;
use protocol::api::{CommandOutcome, RefusalKind, SessionCommand};
use protocol::{MailId, SessionId, TaskId, TaskState, TaskType};
use serde::Serialize;

use super::selection::SelectedTask;
use crate::deliver::{DeliveryOutcome, deliver_command, live_owner};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;

/// What became of a command.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum TaskCommandFate {
    /// The session carried it out.
    Applied { mail: Option<MailId> },
    /// The session refused it; nothing changed.
    Refused { kind: RefusalKind, message: String },
    /// It lies in the file of a session that nobody runs.
    Kept,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskCommandReport<'a> {
    session: SessionId,
    task: TaskId,
    path: &'a str,
    fate: &'a TaskCommandFate,
}

/// Gives a command and tells what became of it.
pub(super) async fn deliver_to_task(
    home: &Home,
    chosen: &SelectedTask,
    command: impl FnOnce(TaskId) -> SessionCommand,
    json: bool,
) -> Result<CommandExit, CliError> {
    let command = command(chosen.task.id);
    expect_possible(chosen, &command)?;
    let fate = match deliver_command(home, chosen.session, &command).await? {
        DeliveryOutcome::Answered(CommandOutcome::Applied { mail }) => TaskCommandFate::Applied { mail },
        DeliveryOutcome::Answered(CommandOutcome::Refused { kind, message }) => {
            TaskCommandFate::Refused { kind, message }
        }
        DeliveryOutcome::Queued => TaskCommandFate::Kept,
    };
    if json {
        let (session, task, path) = (chosen.session, chosen.task.id, &*chosen.task.path);
        print::json(&TaskCommandReport { session, task, path, fate: &fate });
    }
    match &fate {
        TaskCommandFate::Refused { .. } if json => Ok(CommandExit::Usage),
        TaskCommandFate::Refused { kind, message } => Err(refusal_failure(chosen, *kind, message)),
        TaskCommandFate::Applied { .. } | TaskCommandFate::Kept => {
            if !json {
                print_fate(chosen, &command, &fate);
            }
            Ok(CommandExit::Success)
        }
    }
}

/// Fails for what no session would do, now or later.
fn expect_possible(chosen: &SelectedTask, command: &SessionCommand) -> Result<(), CliError> {
    let (path, session) = (print::sanitize(&chosen.task.path), chosen.session);
    match command {
        SessionCommand::Forget(_) if chosen.task.kind == TaskType::Main => {
            Err(CliError::usage(format!("{path} is the session itself"))
                .with_hint(format!("bosun sessions rm {session}")))
        }
        SessionCommand::Forget(_) if !has_ended(chosen) && live_owner(&chosen.reader)?.is_none() => {
            Err(CliError::usage(format!("{path} has not ended")).with_hint(format!("bosun tasks stop {path}")))
        }
        SessionCommand::Promote(_) if live_owner(&chosen.reader)?.is_none() => {
            Err(CliError::usage(format!("nobody runs {session}, so nothing waits for {path}"))
                .with_hint(format!("go on with: bosun --resume {session}")))
        }
        SessionCommand::Send(_)
        | SessionCommand::Interrupt
        | SessionCommand::Stop
        | SessionCommand::Decide(_)
        | SessionCommand::StopTask(_)
        | SessionCommand::StopFleet
        | SessionCommand::Promote(_)
        | SessionCommand::Forget(_)
        | SessionCommand::SetMode(_) => Ok(()),
    }
}

fn has_ended(chosen: &SelectedTask) -> bool {
    matches!(chosen.task.state, TaskState::Finished { .. })
}

fn print_fate(chosen: &SelectedTask, command: &SessionCommand, fate: &TaskCommandFate) {
    let path = print::sanitize(&chosen.task.path);
    let done = match command {
        SessionCommand::Send(_) => "has the message",
        SessionCommand::StopTask(_) if matches!(chosen.task.state, TaskState::Finished { .. }) => "had ended before",
        SessionCommand::StopTask(params) if params.how == protocol::CancelMode::Abort => "is stopped",
        SessionCommand::StopTask(_) if chosen.task.kind == TaskType::Shell => "is stopped",
        SessionCommand::StopTask(_) => "stops after a last turn",
        SessionCommand::Promote(_) => "goes on in the background",
        SessionCommand::Forget(_) => "is removed",
        SessionCommand::Interrupt
        | SessionCommand::Stop
        | SessionCommand::StopFleet
        | SessionCommand::Decide(_)
        | SessionCommand::SetMode(_) => "is told",
    };
    match fate {
        TaskCommandFate::Applied { mail: Some(mail) } if matches!(command, SessionCommand::Send(_)) => {
            print::output(format_args!("{path} {done}: {mail}"));
        }
        // Other mail is what its end tells its parent.
        TaskCommandFate::Applied { .. } => print::output(format_args!("{path} {done}")),
        // No view shows it any more, whoever forgets it later.
        TaskCommandFate::Kept if matches!(command, SessionCommand::Forget(_)) => {
            print::output(format_args!("{path} {done}"))
        }
        TaskCommandFate::Kept => {
            print::output(format_args!("kept for {path}"));
            let session = chosen.session;
            print::note(format_args!("nobody runs the session, so it waits; go on with: bosun --resume {session}"));
        }
        TaskCommandFate::Refused { .. } => {}
    }
}

/// A refusal with what to do next.
fn refusal_failure(chosen: &SelectedTask, kind: RefusalKind, message: &str) -> CliError {
    let path = print::shell_quote(&print::sanitize(&chosen.task.path));
    // The session speaks of ids; a person sees paths.
    let message = message.replace(&format!("task {}", chosen.task.id), &chosen.task.path);
    let failure = CliError::usage(print::sanitize(&message));
    match kind {
        RefusalKind::Ended => failure.with_hint(format!("what it left: bosun tasks output {path}")),
        RefusalKind::NotEnded => failure.with_hint(format!("bosun tasks stop {path}")),
        RefusalKind::Stopping => failure.with_hint(format!("at once: bosun tasks stop {path} --now")),
        RefusalKind::NoInbox => failure.with_hint(format!("what it prints: bosun tasks output {path}")),
        RefusalKind::NotAwaited | RefusalKind::NotRootChild => {
            failure.with_hint(format!("how it stands: bosun tasks show {path}"))
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
        | RefusalKind::Unknown => failure.with_hint("`bosun tasks` shows how things stand"),
    }
}
