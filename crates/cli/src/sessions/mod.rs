//! `bosun sessions`: lists and controls sessions from any terminal, while they run and afterwards.

mod commands;
mod export;
mod list;

use std::collections::BTreeSet;

use host::Home;
use protocol::SessionId;
use protocol::api::SessionCommand;
use tui::print;

pub(crate) use self::export::read_log;
pub(crate) use self::list::describe_resumed;

use crate::args::{SessionsArgs, SessionsCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::fleet;
use crate::run::find_session;
use crate::setup::Setup;

pub(crate) use commands::{DeliveredCommand, give_command, message_command, send_command};

pub(crate) async fn perform(args: SessionsArgs) -> Result<CommandExit, CliError> {
    let home = Setup::read_only()?.home;
    match args.command {
        None => list::list(&home, &args.list),
        Some(SessionsCommand::List(options)) => list::list(&home, &options),
        Some(SessionsCommand::Show { id, json }) => list::show(&home, find_session(&home, &id)?, json),
        Some(SessionsCommand::Export { id, format, output }) => {
            export::export(&home, find_session(&home, &id)?, format, output.as_deref())
        }
        Some(SessionsCommand::Repair { id }) => {
            let id = find_session(&home, &id)?;
            let last = client::sessions::repair(&home, id)?;
            let command = fleet::resume_command(&home, id);
            print::note(format_args!("{id} is accepted as it is; its last event is {last}; resume it with: {command}"));
            Ok(CommandExit::Success)
        }
        Some(SessionsCommand::Rm { ids }) => remove_all(&home, &ids),
        Some(SessionsCommand::Send { id, text, when }) => {
            commands::send_command(&home, find_session(&home, &id)?, commands::message_command(text, when)?).await
        }
        Some(SessionsCommand::Interrupt { id }) => {
            commands::send_command(&home, find_session(&home, &id)?, SessionCommand::Interrupt).await
        }
        Some(SessionsCommand::Stop { id }) => {
            commands::send_command(&home, find_session(&home, &id)?, SessionCommand::Stop).await
        }
        Some(SessionsCommand::Watch { id, after }) => commands::watch(&home, find_session(&home, &id)?, after).await,
    }
}

/// Removes the sessions whose ids begin with these texts.
pub(crate) fn remove_all(home: &Home, prefixes: &[String]) -> Result<CommandExit, CliError> {
    let ids: BTreeSet<SessionId> =
        prefixes.iter().map(|prefix| find_session(home, prefix)).collect::<Result<_, _>>()?;
    for id in ids {
        client::sessions::remove(home, id)?;
        print::note(format_args!("removed {id}"));
    }
    Ok(CommandExit::Success)
}
