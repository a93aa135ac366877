//! A command reaches the session of a task: through its file, and at once if a process runs it. It is carried out once,
//! whoever dies meanwhile, and the file says what became of it.

use std::time::Duration;

use host::{Clock, Home, SystemClock};
use protocol::api::{Command, CommandFate, Method, RefusalKind};
use protocol::{Kind, MailId, SessionId, TaskId, TaskState};
use rpc::Client;
use serde::Serialize;
use serde_json::{Value, json};
use store::{Reader, StoreError};
use tokio::time::Instant;

use super::place::Chosen;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

/// How long a running session is given to take a command before this one ends.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often its file is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// What became of a command.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Fate {
    /// The session carried it out.
    Applied { mail: Option<MailId> },
    /// The session refused it; nothing changed.
    Refused { kind: RefusalKind, message: String },
    /// It lies in the file of a session whose process has not taken it yet.
    Left { owner_pid: u32 },
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
    let fate = deliver(home, &chosen.reader, chosen.session, &command).await?;
    if json {
        let (session, task, path) = (chosen.session, chosen.task.id, &*chosen.task.path);
        print::json(&Given { session, task, path, fate: &fate });
    }
    match &fate {
        Fate::Refused { .. } if json => Ok(Exit::Usage),
        Fate::Refused { kind, message } => Err(refused(chosen, *kind, message)),
        Fate::Applied { .. } | Fate::Left { .. } | Fate::Kept => {
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
        Command::Forget(_) if !has_ended(chosen) && owner(&chosen.reader)?.is_none() => {
            Err(Failure::usage(format!("{path} has not ended")).hint(format!("bosun tasks stop {path}")))
        }
        Command::Promote(_) if owner(&chosen.reader)?.is_none() => {
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
        | Command::Forget(_) => Ok(()),
    }
}

fn has_ended(chosen: &Chosen) -> bool {
    matches!(chosen.task.state, TaskState::Finished { .. })
}

async fn deliver(home: &Home, reader: &Reader, session: SessionId, command: &Command) -> Result<Fate, StoreError> {
    let id = store::post_command(home, session, command, SystemClock.now())?;
    let until = Instant::now() + PATIENCE;
    let mut poked = false;
    loop {
        // Before the look at the command: what an owner that is gone did not do, it will not do any more.
        let owner = owner(reader)?;
        match (reader.command_fate(id)?, owner) {
            (Some(CommandFate::Applied { mail }), _) => return Ok(Fate::Applied { mail }),
            (Some(CommandFate::Refused { kind, message }), _) => return Ok(Fate::Refused { kind, message }),
            (None, None) => return Ok(Fate::Kept),
            (None, Some(owner_pid)) if Instant::now() >= until => return Ok(Fate::Left { owner_pid }),
            (None, Some(_)) if !poked => {
                // A process that cannot be poked looks by itself.
                let _unheard = tokio::time::timeout_at(until, poke(home, session)).await;
                poked = true;
            }
            (None, Some(_)) => tokio::time::sleep(LOOK).await,
        }
    }
}

fn owner(reader: &Reader) -> Result<Option<u32>, StoreError> {
    Ok(reader.lease()?.map(|(_, owner)| owner).filter(host::Owner::is_alive).map(|owner| owner.pid))
}

async fn poke(home: &Home, id: SessionId) -> Option<()> {
    let (client, _notifications) = Client::connect(&home.socket(id)).await.ok()?;
    client.call::<Value>(Method::SessionPoke, json!({})).await.ok().map(|_poked| ())
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
        Command::Interrupt | Command::Stop | Command::StopFleet | Command::Decide(_) => "is told",
    };
    match fate {
        Fate::Applied { mail: Some(mail) } if matches!(command, Command::Send(_)) => {
            print::answer(format_args!("{path} {done}: {mail}"));
        }
        // Other mail is what its end tells its parent.
        Fate::Applied { .. } => print::answer(format_args!("{path} {done}")),
        Fate::Left { owner_pid } => {
            print::answer(format_args!("left for {path}"));
            print::note(format_args!("process {owner_pid} runs the session and has not taken it yet"));
        }
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
        | RefusalKind::Hook
        | RefusalKind::State
        | RefusalKind::Unknown => failure.hint("`bosun tasks` shows how things stand"),
    }
}
