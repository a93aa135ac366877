//! The doors: programs that speak other agents' SDKs come in here.

mod house;
mod install;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use doors::Ended;
use house::Quarters;

use crate::args::{DoorArgs, DoorsCommand, Family};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::Setup;

/// The family whose program this process was started as, by its own name: `bosun-claude` or `bosun-copilot`.
pub(crate) fn named(program: &OsStr) -> Option<Family> {
    match Path::new(program).file_name()?.to_str()? {
        "bosun-claude" => Some(Family::Claude),
        "bosun-copilot" => Some(Family::Copilot),
        _other => None,
    }
}

/// The command line of a door that goes by its own name.
pub(crate) fn words(family: Family, rest: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let name = match family {
        Family::Claude => "claude",
        Family::Copilot => "copilot",
    };
    ["bosun", "door", name, "--"].into_iter().map(OsString::from).chain(rest)
}

/// Does what was asked about doors.
pub(crate) fn perform(command: &DoorsCommand) -> Result<Exit, Failure> {
    match command {
        DoorsCommand::Install { folder, json } => install::install(folder, *json),
    }
}

/// Serves the client that started this process.
pub(crate) async fn serve(args: DoorArgs) -> Result<Exit, Failure> {
    let setup = Setup::read()?;
    let token = setup.env.connection_token();
    let house = Arc::new(Quarters::new(setup));
    let ended = match args.family {
        Family::Claude => doors::claude::serve(house, args.rest).await,
        Family::Copilot => doors::copilot::serve(house, args.rest, token).await,
    };
    Ok(match ended {
        Ended::Well => Exit::Success,
        Ended::Failed => Exit::Failed,
        Ended::Usage => Exit::Usage,
    })
}
