//! Rejects flags that a fleet cannot use, and warns of files that its workers do not see.

use client::SessionHandle;
use protocol::api::{Nothing, UncommittedFiles, calls};
use tui::chat::call_session;
use tui::print;

use crate::args::RunArgs;
use crate::error::CliError;

/// Rejects flags that apply only to a prompt.
pub(super) fn reject_prompt_flags(args: &RunArgs) -> Result<(), CliError> {
    let prompts = [
        (args.prompt.is_some(), "--prompt"),
        (!args.image.is_empty(), "--image"),
        (args.fork, "--fork"),
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

/// The error for a flag that needs isolated workers: in a shared folder there is nothing to merge.
pub(super) fn shared_folder_error(option: &'static str) -> CliError {
    let flag = match option {
        "dirty" => "--include-dirty",
        "merge" => "--merge",
        _check => "--check",
    };
    CliError::usage(format!("{flag} needs workers with their own checkouts, but these share the folder"))
        .with_hint("add --isolation worktree, or leave it out")
}

/// The maximum number of uncommitted files that are named.
const MAX_NAMED_FILES: usize = 5;

/// Warns of files that checkouts do not contain.
pub(super) async fn warn_of_uncommitted(session: &SessionHandle) {
    match call_session::<calls::SessionFleetUncommitted>(session, &Nothing {}).await {
        Ok(uncommitted) => uncommitted_warning(&uncommitted).into_iter().for_each(print::note),
        Err(failure) => print::note(format_args!(
            "warning: cannot tell whether all files are committed: {}",
            CliError::from(failure).message()
        )),
    }
}

/// The warning about uncommitted files, if there are any.
fn uncommitted_warning(UncommittedFiles { files, total }: &UncommittedFiles) -> Option<String> {
    let mut named: Vec<String> = files.iter().take(MAX_NAMED_FILES).map(|name| print::sanitize(name)).collect();
    let total = usize::try_from(*total).unwrap_or(usize::MAX);
    named.extend(total.checked_sub(MAX_NAMED_FILES).filter(|more| *more > 0).map(|more| format!("{more} more")));
    (total > 0).then(|| {
        format!(
            "warning: workers do not see {}: {}; commit them first, or start with --include-dirty",
            print::pluralize(total, "uncommitted file"),
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
    use super::*;

    #[test]
    fn uncommitted_files_are_counted_and_the_first_are_named() {
        assert_eq!(uncommitted_warning(&UncommittedFiles::default()), None);
        let warning = |total: u64| {
            let files = (1..=total).map(|n| format!("f{n}")).collect();
            uncommitted_warning(&UncommittedFiles { files, total }).unwrap()
        };
        assert!(warning(1).contains("1 uncommitted file: f1; commit"), "{}", warning(1));
        assert!(warning(5).contains("5 uncommitted files: f1, f2, f3, f4, f5; commit"), "{}", warning(5));
        assert!(warning(7).contains(": f1, f2, f3, f4, f5, 2 more; commit"), "{}", warning(7));
        assert!(warning(7).contains("--include-dirty"));
    }
}
