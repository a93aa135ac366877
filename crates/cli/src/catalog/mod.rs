//! `bosun catalog`: agents, skills and plugins, their sources and their problems.

mod check;
mod list;
mod show;

use protocol::SessionOptions;

use crate::args::{CatalogArgs, CatalogCommand, CatalogOptions};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, working_folder};

pub(crate) async fn perform(args: &CatalogArgs) -> Result<CommandExit, CliError> {
    match &args.command {
        CatalogCommand::List(options) => {
            let (catalog, _config) =
                read_setup().await?.sources().catalog_of(&definitions(options), &working_folder(None)?)?;
            list::list(&catalog, options.json);
            Ok(CommandExit::Success)
        }
        CatalogCommand::Show { name, options } => {
            let (catalog, _config) =
                read_setup().await?.sources().catalog_of(&definitions(options), &working_folder(None)?)?;
            show::show(config::find_definition(&catalog, name)?, options.json);
            Ok(CommandExit::Success)
        }
        CatalogCommand::Check { options, strict } => {
            let (catalog, config) =
                read_setup().await?.sources().checked_catalog_of(&definitions(options), &working_folder(None)?)?;
            Ok(check::check(&catalog, &config.agents, options.json, *strict))
        }
    }
}

/// The setup with the definitions of the remote catalogue, as a run would have them.
async fn read_setup() -> Result<Setup, CliError> {
    let mut setup = Setup::read()?;
    setup.fetch_remote_catalog(None).await;
    Ok(setup)
}

fn definitions(options: &CatalogOptions) -> SessionOptions {
    options.definitions.session_options()
}
