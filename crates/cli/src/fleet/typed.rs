//! What cannot be typed together with a fleet, told before anybody is asked anything.

use std::path::Path;

use git::Repository;
use protocol::FleetTerms;

use crate::args::{FleetWorkArgs, RunArgs};
use crate::checkouts;
use crate::failure::Failure;
use crate::setup::Setup;

/// Refuses what only a prompt has.
pub(super) fn expect_fit(args: &RunArgs) -> Result<(), Failure> {
    if let Some(flag) = args.later() {
        return Err(Failure::usage(format!("{flag} comes with a later version")).hint("leave it out"));
    }
    let prompts = [
        (args.prompt.is_some(), "--prompt"),
        (!args.image.is_empty(), "--image"),
        (args.fork, "--fork"),
        (args.background_wait.is_some(), "--background-wait"),
    ];
    if let Some(flag) = first(&prompts) {
        return Err(Failure::usage(format!("{flag} is for a prompt, and a fleet has none"))
            .hint("leave it out; a goal is written as bosun fleet \"GOAL\""));
    }
    let modes = [
        (args.mode.plan, "--plan"),
        (args.mode.plan_exit.is_some(), "--plan-exit"),
        (args.mode.autopilot, "--autopilot"),
        (args.mode.max_continues.is_some(), "--max-continues"),
    ];
    first(&modes).map_or(Ok(()), |flag| {
        Err(Failure::usage(format!("{flag} is not for a fleet, which plans and goes on by itself"))
            .hint("leave it out; --rounds says how often the main agent may plan anew"))
    })
}

/// Refuses what would have no effect, since there is nothing to merge where everybody works in one folder.
pub(super) fn expect_isolated(work: &FleetWorkArgs, terms: &FleetTerms) -> Result<(), Failure> {
    let merging = [(work.include_dirty, "--include-dirty"), (work.merge, "--merge"), (work.check.is_some(), "--check")];
    match first(&merging) {
        Some(flag) if !terms.isolated => Err(Failure::usage(format!(
            "{flag} is for workers with checkouts of their own, and these work in the folder itself"
        ))
        .hint("add --isolation worktree, or leave it out")),
        Some(_) | None => Ok(()),
    }
}

/// Refuses isolation where no checkout can be made.
pub(super) async fn expect_repository(setup: &Setup, cwd: &Path, terms: &FleetTerms) -> Result<(), Failure> {
    if !terms.isolated {
        return Ok(());
    }
    let repository = Repository::find(&checkouts::git(setup).at(cwd)).await.map_err(Failure::usage)?;
    repository.head().await.map_err(Failure::usage)?;
    Ok(())
}

/// The first flag that was typed.
fn first(flags: &[(bool, &'static str)]) -> Option<&'static str> {
    flags.iter().find_map(|(typed, flag)| typed.then_some(*flag))
}
