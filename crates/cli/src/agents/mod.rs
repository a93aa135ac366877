//! `bosun agents`: sessions in the background, from any terminal.

mod activity;
mod attach;
mod list;

use client::SessionHandle;
use host::Home;
use protocol::api::SessionCommand;
use protocol::{SessionId, SessionOptions, TaskState};
use runtime::SessionStart;
use tui::print;

use crate::args::{AgentsArgs, AgentsCommand, RunArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::run::{self, find_session};
use crate::serve::{HostedWork, begin};
use crate::sessions::{self, DeliveredCommand};
use crate::setup::Setup;
use crate::tasks;

pub(crate) async fn perform(args: AgentsArgs) -> Result<CommandExit, CliError> {
    let home = || Ok::<Home, CliError>(Setup::read_only()?.home);
    match args.command {
        None => list::list(&home()?, &args.list).await,
        Some(AgentsCommand::List(options)) => list::list(&home()?, &options).await,
        Some(AgentsCommand::Start { task, run }) => start(task, *run).await,
        Some(AgentsCommand::Attach { id }) => attach::attach(id.as_deref()).await,
        Some(AgentsCommand::Logs { id, follow, tree, json }) => {
            let home = home()?;
            tasks::print_root_log(&home, find_session(&home, &id)?, tasks::LogOptions { follow, tree, json }).await
        }
        Some(AgentsCommand::Send { id, text, when }) => {
            let home = home()?;
            send(&home, find_session(&home, &id)?, sessions::message_command(text, when)?).await
        }
        Some(AgentsCommand::Stop { id }) => {
            let home = home()?;
            sessions::send_command(&home, find_session(&home, &id)?, SessionCommand::Stop).await
        }
        Some(AgentsCommand::Resume { id }) => {
            let home = home()?;
            resume(&home, find_session(&home, &id)?).await
        }
        Some(AgentsCommand::Rm { ids }) => sessions::remove_all(&home()?, &ids),
    }
}

/// Starts a session in the background.
async fn start(task: String, args: RunArgs) -> Result<CommandExit, CliError> {
    if args.prompt.is_some() {
        return Err(CliError::usage("the prompt is given twice").with_hint("leave -p out"));
    }
    const NO_OPENING: Option<String> = None;
    run::run(RunArgs { prompt: Some(task), detach: true, ..args }, NO_OPENING).await
}

/// Sends a message; a session that rests is resumed in the background to read it.
async fn send(home: &Home, id: SessionId, message: SessionCommand) -> Result<CommandExit, CliError> {
    match sessions::give_command(home, id, &message).await? {
        DeliveredCommand::Applied => print::note("delivered"),
        DeliveredCommand::Queued => {
            continue_in_background(home, id).await?;
            print::note(format_args!("delivered; the session continues in the background: bosun agents attach {id}"));
        }
        DeliveredCommand::NothingToDo => print::note("the session is not running"),
    }
    Ok(CommandExit::Success)
}

/// Resumes a session in the background, unless a process runs it.
async fn resume(home: &Home, id: SessionId) -> Result<CommandExit, CliError> {
    let session = SessionHandle::new(home, id);
    let view = session.view()?;
    if let Some(pid) = view.owner_pid {
        print::note(format_args!("process {pid} runs the session already"));
        return Ok(CommandExit::Success);
    }
    let is_unfinished = view.state == TaskState::Interrupted || matches!(view.state, TaskState::Parked { .. });
    if !is_unfinished && !session.has_queued_commands()? {
        print::note(format_args!("nothing is left to do; send it more with: bosun agents send {id} \"…\""));
        return Ok(CommandExit::Success);
    }
    continue_in_background(home, id).await?;
    print::note(format_args!("it continues in the background; follow it with: bosun agents attach {id}"));
    Ok(CommandExit::Success)
}

/// Applies the commands that wait for a session, and resumes its interrupted work, in the session host.
async fn continue_in_background(home: &Home, id: SessionId) -> Result<(), CliError> {
    begin(home, HostedWork::Session(SessionStart::Resume(id), &SessionOptions::default())).await.map(drop)
}
