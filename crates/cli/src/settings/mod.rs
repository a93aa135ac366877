//! `bosun config`: shows the effective settings and their origin, and adds rules.

mod files;
mod rule;
mod show;

use protocol::RuleEffect;

use crate::args::{ConfigArgs, ConfigCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

pub(crate) fn perform(args: &ConfigArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    match &args.command {
        ConfigCommand::Show(options) => show::show(&setup, options),
        ConfigCommand::Path { json } => files::list(&setup, *json),
        ConfigCommand::Check { files } => files::check(&setup, files),
        ConfigCommand::Allow(options) => rule::write(&setup, RuleEffect::Allow, options),
        ConfigCommand::Ask(options) => rule::write(&setup, RuleEffect::Ask, options),
        ConfigCommand::Deny(options) => rule::write(&setup, RuleEffect::Deny, options),
    }
}
