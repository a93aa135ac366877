//! The doors: programs that speak other agents' SDKs come in here.

mod house;
mod install;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use config::CopilotProvider;
use doors::copilot::Offer;
use doors::{ClientProvider, Ended};
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
    let provider = match args.family {
        Family::Claude => None,
        Family::Copilot => setup.env.copilot_provider().map(own_provider).transpose()?,
    };
    let house = Arc::new(Quarters::new(setup).with_provider(provider));
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

/// The provider that the environment gives to sessions of the Copilot SDKs.
fn own_provider(found: CopilotProvider) -> Result<ClientProvider, Failure> {
    let CopilotProvider { base_url, kind, key, bearer, model } = found;
    let offer = Offer { base_url, kind, api_key: key, bearer_token: bearer, model_id: model, ..Offer::default() };
    offer.provider().map_err(|why| Failure::usage(format!("COPILOT_PROVIDER_*: {why}")))
}
