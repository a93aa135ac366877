//! `bosun sessions`: what there is, from any terminal, while sessions run and after.

mod export;
mod list;
mod live;

use std::collections::BTreeSet;

use host::Home;
use protocol::SessionId;
use protocol::api::Command;
use store::{Index, Reader, StoreError};

pub(crate) use self::export::read_log;

use crate::args::{SessionsArgs, SessionsCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::run::find;
use crate::setup::Setup;

pub(crate) use live::command;

pub(crate) async fn perform(args: SessionsArgs) -> Result<Exit, Failure> {
    let home = Setup::to_read()?.home;
    match args.command {
        None => list::list(&home, &args.list),
        Some(SessionsCommand::List(options)) => list::list(&home, &options),
        Some(SessionsCommand::Show { id, json }) => list::show(&home, find(&home, &id)?, json),
        Some(SessionsCommand::Export { id, format, output }) => {
            export::export(&home, find(&home, &id)?, format, output.as_deref())
        }
        Some(SessionsCommand::Repair { id }) => {
            let id = find(&home, &id)?;
            let last = store::accept_log(&home, id)?;
            print::note(format_args!(
                "{id} is taken as it is: its last event is {last}; resume it: bosun --resume {id}"
            ));
            Ok(Exit::Success)
        }
        Some(SessionsCommand::Rm { ids }) => remove_all(&home, &ids),
        Some(SessionsCommand::Send { id, text, when }) => {
            live::command(&home, find(&home, &id)?, live::message(text, when)?).await
        }
        Some(SessionsCommand::Interrupt { id }) => live::command(&home, find(&home, &id)?, Command::Interrupt).await,
        Some(SessionsCommand::Stop { id }) => live::command(&home, find(&home, &id)?, Command::Stop).await,
        Some(SessionsCommand::Watch { id, after }) => live::watch(&home, find(&home, &id)?, after).await,
    }
}

/// Removes a session and its place in the index.
pub(crate) fn remove(home: &Home, id: SessionId) -> Result<(), StoreError> {
    store::remove_session(home, id)?;
    Index::open(home)?.remove(id)
}

fn remove_all(home: &Home, prefixes: &[String]) -> Result<Exit, Failure> {
    let ids: BTreeSet<SessionId> = prefixes.iter().map(|prefix| find(home, prefix)).collect::<Result<_, _>>()?;
    for id in ids {
        remove(home, id)?;
        print::note(format_args!("removed {id}"));
    }
    Ok(Exit::Success)
}

/// Whether a process runs the session now.
pub(crate) fn is_live(reader: &Reader) -> Result<bool, StoreError> {
    Ok(reader.lease()?.is_some_and(|(_, owner)| owner.is_alive()))
}
