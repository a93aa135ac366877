//! A command reaches the session of a task, and what became of it is told.

use host::Home;
use protocol::api::{Command, CommandFate, RefusalKind};
use protocol::{Kind, MailId, SessionId, TaskId, TaskState};
use serde::Serialize;

use super::place::Chosen;
use crate::deliver::{Delivered, deliver, live_owner};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

/// What became of a command.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Fate {
    /// The session carried it out.
    Applied { mail: Option<MailId> },
    /// The session refused it; nothing changed.
    Refused { kind: RefusalKind, message: String },
    /// It lies in the file of a session that nobody runs.
    Kept,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Given<'a> {
    session: SessionId,
    task: TaskId,
    path: &'a str,
    fate: &'a Fate,
}

/// Gives a command and tells what became of it.
pub(super) async fn give(
    home: &Home,
    chosen: &Chosen,
    command: impl FnOnce(TaskId) -> Command,
    json: bool,
) -> Result<Exit, Failure> {
    let command = command(chosen.task.id);
    check(chosen, &command)?;
    let fate = match deliver(home, chosen.session, &command).await? {
        Delivered::Answered(CommandFate::Applied { mail }) => Fate::Applied { mail },
        Delivered::Answered(CommandFate::Refused { kind, message }) => Fate::Refused { kind, message },
        Delivered::Kept => Fate::Kept,
    };
    if json {
        let (session, task, path) = (chosen.session, chosen.task.id, &*chosen.task.path);
        print::json(&Given { session, task, path, fate: &fate });
    }
    match &fate {
        Fate::Refused { .. } if json => Ok(Exit::Usage),
        Fate::Refused { kind, message } => Err(refused(chosen, *kind, message)),
        Fate::Applied { .. } | Fate::Kept => {
            if !json {
                tell(chosen, &command, &fate);
            }
            Ok(Exit::Success)
        }
    }
}

/// Fails for what no session would do, now or later.
fn check(chosen: &Chosen, command: &Command) -> Result<(), Failure> {
    let (path, session) = (print::plain(&chosen.task.path), chosen.session);
    match command {
        Command::Forget(_) if chosen.task.kind == Kind::Main => {
            Err(Failure::usage(format!("{path} is the session itself")).hint(format!("bosun sessions rm {session}")))
        }
        Command::Forget(_) if !has_ended(chosen) && live_owner(&chosen.reader)?.is_none() => {
            Err(Failure::usage(format!("{path} has not ended")).hint(format!("bosun tasks stop {path}")))
        }
        Command::Promote(_) if live_owner(&chosen.reader)?.is_none() => {
            Err(Failure::usage(format!("nobody runs {session}, so nothing waits for {path}"))
                .hint(format!("go on with: bosun --resume {session}")))
        }
        Command::Send(_)
        | Command::Interrupt
        | Command::Stop
        | Command::Decide(_)
        | Command::StopTask(_)
        | Command::StopFleet
        | Command::Promote(_)
        | Command::Forget(_)
        | Command::SetMode(_) => Ok(()),
    }
}

fn has_ended(chosen: &Chosen) -> bool {
    matches!(chosen.task.state, TaskState::Finished { .. })
}

fn tell(chosen: &Chosen, command: &Command, fate: &Fate) {
    let path = print::plain(&chosen.task.path);
    let done = match command {
        Command::Send(_) => "has the message",
        Command::StopTask(_) if matches!(chosen.task.state, TaskState::Finished { .. }) => "had ended before",
        Command::StopTask(params) if params.how == protocol::Cancel::Abort => "is stopped",
        Command::StopTask(_) if chosen.task.kind == Kind::Shell => "is stopped",
        Command::StopTask(_) => "stops after a last turn",
        Command::Promote(_) => "goes on in the background",
        Command::Forget(_) => "is removed",
        Command::Interrupt | Command::Stop | Command::StopFleet | Command::Decide(_) | Command::SetMode(_) => "is told",
    };
    match fate {
        Fate::Applied { mail: Some(mail) } if matches!(command, Command::Send(_)) => {
            print::answer(format_args!("{path} {done}: {mail}"));
        }
        // Other mail is what its end tells its parent.
        Fate::Applied { .. } => print::answer(format_args!("{path} {done}")),
        // No view shows it any more, whoever forgets it later.
        Fate::Kept if matches!(command, Command::Forget(_)) => print::answer(format_args!("{path} {done}")),
        Fate::Kept => {
            print::answer(format_args!("kept for {path}"));
            let session = chosen.session;
            print::note(format_args!("nobody runs the session, so it waits; go on with: bosun --resume {session}"));
        }
        Fate::Refused { .. } => {}
    }
}

/// A refusal with what to do next.
fn refused(chosen: &Chosen, kind: RefusalKind, message: &str) -> Failure {
    let path = print::word(&print::plain(&chosen.task.path));
    // The session speaks of ids; a person sees paths.
    let message = message.replace(&format!("task {}", chosen.task.id), &chosen.task.path);
    let failure = Failure::usage(print::plain(&message));
    match kind {
        RefusalKind::Ended => failure.hint(format!("what it left: bosun tasks output {path}")),
        RefusalKind::NotEnded => failure.hint(format!("bosun tasks stop {path}")),
        RefusalKind::Stopping => failure.hint(format!("at once: bosun tasks stop {path} --now")),
        RefusalKind::NoInbox => failure.hint(format!("what it prints: bosun tasks output {path}")),
        RefusalKind::NotAwaited | RefusalKind::NotRoots => {
            failure.hint(format!("how it stands: bosun tasks show {path}"))
        }
        RefusalKind::NoTask
        | RefusalKind::Closed
        | RefusalKind::Limit
        | RefusalKind::NoAsk
        | RefusalKind::Unfit
        | RefusalKind::NoRule
        | RefusalKind::Unproven
        | RefusalKind::Hook
        | RefusalKind::State
        | RefusalKind::Unknown => failure.hint("`bosun tasks` shows how things stand"),
    }
}
