//! Adds permission rules to the user's settings.

use std::path::{Path, PathBuf};

use config::{Project, RuleAddition, RuleLine, local_file};
use protocol::RuleEffect;
use tui::print;

use crate::args::{RuleArgs, RuleScope};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure, working_folder};

pub(super) fn write(setup: &Setup, effect: RuleEffect, args: &RuleArgs) -> Result<CommandExit, CliError> {
    let (path, added) = add(setup, &working_folder(None)?, args.scope, effect, &args.rule)?;
    let (effect, rule, path) = (effect.as_str(), args.rule.text(), path.display());
    print::note(match added {
        RuleAddition::Written => format!("{effect} {rule}: written to {path}"),
        RuleAddition::AlreadyPresent => format!("{effect} {rule}: already in {path}"),
    });
    Ok(CommandExit::Success)
}

/// Adds a rule to one of the user's files, for the folder's project or for all projects; returns the file.
pub(crate) fn add(
    setup: &Setup,
    cwd: &Path,
    scope: RuleScope,
    effect: RuleEffect,
    rule: &RuleLine,
) -> Result<(PathBuf, RuleAddition), CliError> {
    let home = setup.home.root();
    let path = match scope {
        RuleScope::Local => local_file(home, &Project::find(cwd).dir),
        RuleScope::User => home.join("config.toml"),
    };
    let _lock = setup.home.lock("settings")?;
    let added = config::add_rule(&path, effect, rule).map_err(settings_failure)?;
    Ok((path, added))
}
