//! Rejects flag combinations that a fleet cannot use, before the session starts.

use std::path::Path;

use git::Repository;
use protocol::FleetConfig;
use tui::print;

use crate::args::{FleetWorkArgs, RunArgs};
use crate::checkouts;
use crate::error::CliError;
use crate::setup::Setup;

/// Rejects flags that apply only to a prompt.
pub(super) fn reject_prompt_flags(args: &RunArgs) -> Result<(), CliError> {
    let prompts = [
        (args.prompt.is_some(), "--prompt"),
        (!args.image.is_empty(), "--image"),
        (args.fork, "--fork"),
        (args.detach, "--detach"),
        (args.background_wait.is_some(), "--background-wait"),
    ];
    if let Some(flag) = first_given_flag(&prompts) {
        return Err(CliError::usage(format!("{flag} applies to a prompt, not to a fleet"))
            .with_hint("leave it out; a goal is written as bosun fleet \"GOAL\""));
    }
    let modes = [
        (args.mode.plan, "--plan"),
        (args.mode.plan_exit.is_some(), "--plan-exit"),
        (args.mode.autopilot, "--autopilot"),
        (args.mode.max_continues.is_some(), "--max-continues"),
    ];
    first_given_flag(&modes).map_or(Ok(()), |flag| {
        Err(CliError::usage(format!("{flag} does not apply to a fleet, which plans and continues by itself"))
            .with_hint("leave it out; --rounds limits how often the main agent may revise its plan"))
    })
}

/// Rejects merge flags without isolation: with a shared folder there is nothing to merge.
pub(super) fn reject_merge_flags(work: &FleetWorkArgs, terms: &FleetConfig) -> Result<(), CliError> {
    let merge_flags =
        [(work.include_dirty, "--include-dirty"), (work.merge, "--merge"), (work.check.is_some(), "--check")];
    match first_given_flag(&merge_flags) {
        Some(flag) if !terms.isolated => {
            Err(CliError::usage(format!("{flag} needs workers with their own checkouts, but these share the folder"))
                .with_hint("add --isolation worktree, or leave it out"))
        }
        Some(_) | None => Ok(()),
    }
}

/// The maximum number of uncommitted files that are named.
const MAX_NAMED_FILES: usize = 5;

/// Rejects isolation without a usable repository; returns the repository that checkouts are cloned from.
pub(super) async fn require_repository(
    setup: &Setup,
    cwd: &Path,
    terms: &FleetConfig,
) -> Result<Option<Repository>, CliError> {
    if !terms.isolated {
        return Ok(None);
    }
    let repository = Repository::find(&checkouts::git_in_home(setup).in_folder(cwd)).await.map_err(CliError::usage)?;
    repository.head().await.map_err(CliError::usage)?;
    Ok(Some(repository))
}

/// Warns of files that checkouts will not contain.
pub(super) async fn warn_of_uncommitted(repository: Repository, plan: Option<String>) {
    let plan = plan.and_then(|plan| Path::new(&plan).canonicalize().ok());
    let is_plan = |name: &String| plan.as_deref() == Some(&repository.top().join(name));
    match repository.uncommitted().await {
        Ok(files) => {
            let files: Vec<String> = files.into_iter().filter(|name| !is_plan(name)).collect();
            uncommitted_warning(&files).into_iter().for_each(print::note);
        }
        Err(error) => print::note(format_args!("warning: cannot tell whether all files are committed: {error}")),
    }
}

/// The warning about uncommitted files, if there are any.
fn uncommitted_warning(files: &[String]) -> Option<String> {
    let mut named: Vec<String> = files.iter().take(MAX_NAMED_FILES).map(|name| print::sanitize(name)).collect();
    named.extend(files.len().checked_sub(MAX_NAMED_FILES + 1).map(|more| format!("{} more", more + 1)));
    (!files.is_empty()).then(|| {
        format!(
            "warning: workers do not see {}: {}; commit them first, or start with --include-dirty",
            print::pluralize(files.len(), "uncommitted file"),
            named.join(", ")
        )
    })
}

/// The first flag that was given.
fn first_given_flag(flags: &[(bool, &'static str)]) -> Option<&'static str> {
    flags.iter().find_map(|(given, flag)| given.then_some(*flag))
}

#[cfg(test)]
mod tests {
    use super::uncommitted_warning;

    #[test]
    fn uncommitted_files_are_counted_and_the_first_are_named() {
        assert_eq!(uncommitted_warning(&[]), None);
        let files: Vec<String> = (1..=7).map(|n| format!("f{n}")).collect();
        let warning = |count: usize| uncommitted_warning(&files[..count]).unwrap();
        assert!(warning(1).contains("1 uncommitted file: f1; commit"), "{}", warning(1));
        assert!(warning(5).contains("5 uncommitted files: f1, f2, f3, f4, f5; commit"), "{}", warning(5));
        assert!(warning(7).contains(": f1, f2, f3, f4, f5, 2 more; commit"), "{}", warning(7));
        assert!(warning(7).contains("--include-dirty"));
    }
}
