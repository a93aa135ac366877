//! `bosun catalog`: agents, skills and plugins, their sources and their problems.

mod check;
mod list;
mod show;

use config::{Config, Env, LoadedCatalog};

use crate::args::{CatalogArgs, CatalogCommand, CatalogOptions};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure};

pub(crate) async fn perform(args: &CatalogArgs) -> Result<CommandExit, CliError> {
    match &args.command {
        CatalogCommand::List(options) => {
            let (catalog, _config) = load_catalog(options).await?;
            list::list(&catalog, options.json);
            Ok(CommandExit::Success)
        }
        CatalogCommand::Show { name, options } => show::show(&load_catalog(options).await?.0, name, options.json),
        CatalogCommand::Check { options, strict } => {
            let (mut catalog, config) = load_catalog(options).await?;
            let access = config.access(&Env::read()).map_err(settings_failure)?;
            catalog.add_unusable_agents(&config.agents, &access);
            Ok(check::check(&catalog, &config.agents, options.json, *strict))
        }
    }
}

/// Loads the catalogue of the working folder as a run would.
async fn load_catalog(options: &CatalogOptions) -> Result<(LoadedCatalog, Config), CliError> {
    let mut setup = Setup::read()?;
    setup.fetch_remote_catalog(None).await;
    let layers = setup.layers_here()?;
    let catalog = setup.sources().load_catalog(&layers, &options.definitions.session_options())?;
    Ok((catalog, layers.config()))
}
