//! `bosun checkouts`: the checkouts that agents work in, and those in the trash.

mod list;

use git::{Checkout, DiscardOutcome, Git, TrashedCheckout};
use host::{Clock, Guardian, SystemClock};

use crate::args::{CheckoutsArgs, CheckoutsCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::setup::Setup;

pub(crate) fn perform(args: &CheckoutsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    match &args.command {
        None => list::list(&setup, args.json),
        Some(CheckoutsCommand::Rm { ids }) => remove(&setup, ids),
        Some(CheckoutsCommand::Restore { id }) => restore(&setup, id),
    }
}

/// Git for Bosun's home and for the repositories that checkouts were made from.
pub(crate) fn git_in_home(setup: &Setup) -> Git {
    let guardian = Guardian::new("/proc/self/exe".into());
    let env = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name.into(), setup.env.text(name)?.into())));
    Git::new(guardian, setup.home.root(), &env.collect::<Vec<_>>())
}

fn remove(setup: &Setup, ids: &[String]) -> Result<CommandExit, CliError> {
    let all = Checkout::all(&git_in_home(setup), &setup.home);
    // Find all of them before moving the first.
    let checkouts = ids.iter().map(|id| find_by_prefix(id, &all, |checkout| checkout.id().task.to_string()));
    for checkout in checkouts.collect::<Result<Vec<_>, CliError>>()? {
        match checkout.clone().trash(&setup.home, SystemClock.now(), "removed by the user") {
            Ok(DiscardOutcome::Trashed { name, .. }) => {
                print::output(format_args!("{}  in the trash as {name}", checkout.id().task));
            }
            Ok(DiscardOutcome::Removed(_)) => print::output(format_args!("{}  removed", checkout.id().task)),
            Err(error) => return Err(CliError::failed(error)),
        }
    }
    Ok(CommandExit::Success)
}

fn restore(setup: &Setup, id: &str) -> Result<CommandExit, CliError> {
    let all = TrashedCheckout::all(&setup.home);
    let path = find_by_prefix(id, &all, |trashed| trashed.id.task.to_string())?
        .restore(&setup.home)
        .map_err(CliError::failed)?;
    print::output(path.display());
    Ok(CommandExit::Success)
}

/// Finds the item with this id or id prefix.
fn find_by_prefix<'a, T>(given: &str, all: &'a [T], id: impl Fn(&T) -> String) -> Result<&'a T, CliError> {
    let matches = |item: &&T| {
        id(item) == given || id(item).trim_start_matches("task-").starts_with(given.trim_start_matches("task-"))
    };
    let matching: Vec<&T> = all.iter().filter(matches).collect();
    let hint = "`bosun checkouts` lists them";
    match matching[..] {
        [item] if !given.is_empty() => Ok(item),
        [] | [_] => Err(CliError::usage(format!("there is no checkout `{given}`")).with_hint(hint)),
        _ => Err(CliError::usage(format!("{} ids begin with `{given}`", matching.len())).with_hint(hint)),
    }
}
