//! `bosun catalog`: agents, skills and plugins, their sources and their problems.

mod check;
mod list;
mod show;

use std::path::Path;

use config::{Config, Env, LoadedCatalog};
use protocol::SessionOptions;
use protocol::api::{CatalogProblems, CatalogView, FullDefinition};

use crate::args::{CatalogArgs, CatalogCommand, CatalogOptions};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure, working_folder};

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
    load_catalog_of(&setup, &options.definitions.session_options(), &working_folder(None)?)
}

/// Loads the catalogue of a folder. Definitions of the remote catalogue are those that were fetched before.
fn load_catalog_of(setup: &Setup, options: &SessionOptions, cwd: &Path) -> Result<(LoadedCatalog, Config), CliError> {
    let layers = setup.sources().layers(&SessionOptions::default(), None, cwd)?;
    let catalog = setup.sources().load_catalog(&layers, options)?;
    Ok((catalog, layers.config()))
}

/// The definitions that apply in a folder.
pub(crate) fn view(setup: &Setup, cwd: &Path) -> Result<CatalogView, CliError> {
    Ok(list::view(&load_catalog_of(setup, &SessionOptions::default(), cwd)?.0))
}

/// One definition that applies in a folder.
pub(crate) fn definition(setup: &Setup, name: &str, cwd: &Path) -> Result<FullDefinition, CliError> {
    show::find(&load_catalog_of(setup, &SessionOptions::default(), cwd)?.0, name)
}

/// The problems of the definitions of a folder.
pub(crate) fn problems(setup: &Setup, cwd: &Path) -> Result<CatalogProblems, CliError> {
    let (mut catalog, config) = load_catalog_of(setup, &SessionOptions::default(), cwd)?;
    let access = config.access(&setup.env).map_err(settings_failure)?;
    catalog.add_unusable_agents(&config.agents, &access);
    Ok(check::view(&catalog, &config.agents))
}
