//! Rules that are added to the user's own settings.

use std::path::{Path, PathBuf};

use config::{Project, RuleAddition, RuleLine, local_file};
use protocol::RuleEffect;

use crate::args::{RuleArgs, RuleScope};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::setup::{Setup, folder, settings_failure};

pub(super) fn write(setup: &Setup, effect: RuleEffect, args: &RuleArgs) -> Result<CommandExit, CliError> {
    let (path, added) = add(setup, &folder(None)?, args.scope, effect, &args.rule)?;
    let (word, rule, path) = (effect.as_str(), args.rule.text(), path.display());
    print::note(match added {
        RuleAddition::Written => format!("{word} {rule}: written to {path}"),
        RuleAddition::AlreadyPresent => format!("{word} {rule}: stands in {path} already"),
    });
    Ok(CommandExit::Success)
}

/// Adds a rule to one of the user's files, for the project of a folder or for all, and says which file that is.
pub(crate) fn add(
    setup: &Setup,
    cwd: &Path,
    place: RuleScope,
    effect: RuleEffect,
    rule: &RuleLine,
) -> Result<(PathBuf, RuleAddition), CliError> {
    let home = setup.home.root();
    let path = match place {
        RuleScope::Local => local_file(home, &Project::find(cwd).top),
        RuleScope::User => home.join("config.toml"),
    };
    let _lock = setup.home.lock("settings")?;
    let added = config::add_rule(&path, effect, rule).map_err(settings_failure)?;
    Ok((path, added))
}
