//! `bosun catalog`: which agents, skills and plugins there are, where each was written, and what is wrong.

mod check;
mod list;
mod show;

use config::{Choice, Config, Env};

use crate::args::{CatalogArgs, CatalogCommand, CatalogOptions};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::{Found, Setup, refused};

pub(crate) async fn perform(args: &CatalogArgs) -> Result<Exit, Failure> {
    match &args.command {
        CatalogCommand::List(options) => {
            let (found, _config) = look(options).await?;
            list::list(&found, options.json);
            Ok(Exit::Success)
        }
        CatalogCommand::Show { name, options } => show::show(&look(options).await?.0, name, options.json),
        CatalogCommand::Check { options, strict } => {
            let (mut found, config) = look(options).await?;
            let access = config.access(&Env::read()).map_err(refused)?;
            found.add_unusable(&config.agents, &access);
            Ok(check::check(&found, &config.agents, options.json, *strict))
        }
    }
}

/// Everything there is in the working folder, as a run would find it.
async fn look(options: &CatalogOptions) -> Result<(Found, Config), Failure> {
    let mut setup = Setup::read()?;
    setup.ask_catalog(None).await;
    let layers = setup.here()?;
    let found = setup.found(&layers, &Choice::ALL, &options.definitions)?;
    Ok((found, layers.config()))
}
