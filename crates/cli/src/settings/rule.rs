//! Rules that are added to the user's own settings.

use std::path::{Path, PathBuf};

use config::{Added, Project, RuleLine, local_file};
use protocol::RuleEffect;

use crate::args::{Place, RuleArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::{Setup, folder, refused};

pub(super) fn write(setup: &Setup, effect: RuleEffect, args: &RuleArgs) -> Result<Exit, Failure> {
    let (path, added) = add(setup, &folder(None)?, args.place, effect, &args.rule)?;
    let (word, rule, path) = (effect.word(), args.rule.text(), path.display());
    print::note(match added {
        Added::Written => format!("{word} {rule}: written to {path}"),
        Added::Known => format!("{word} {rule}: stands in {path} already"),
    });
    Ok(Exit::Success)
}

/// Adds a rule to one of the user's files, for the project of a folder or for all, and says which file that is.
pub(crate) fn add(
    setup: &Setup,
    cwd: &Path,
    place: Place,
    effect: RuleEffect,
    rule: &RuleLine,
) -> Result<(PathBuf, Added), Failure> {
    let home = setup.home.root();
    let path = match place {
        Place::Local => local_file(home, &Project::find(cwd).top),
        Place::User => home.join("config.toml"),
    };
    let _lock = setup.home.lock("settings")?;
    let added = config::add_rule(&path, effect, rule).map_err(refused)?;
    Ok((path, added))
}
