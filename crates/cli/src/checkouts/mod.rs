//! `bosun checkouts`: the checkouts that agents work in, and those in the trash.

mod list;

use git::{Checkout, DiscardOutcome, Git, TrashedCheckout};
use host::{Clock, Guardian, SystemClock};
use protocol::api::MovedCheckout;
use tui::print;

use crate::args::{CheckoutsArgs, CheckoutsCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

pub(crate) use list::view;

pub(crate) fn perform(args: &CheckoutsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    match &args.command {
        None => list::list(&setup, args.json),
        Some(CheckoutsCommand::Rm { ids }) => remove(&setup, ids),
        Some(CheckoutsCommand::Restore { id }) => {
            restore(&setup, id)?.location.into_iter().for_each(print::output);
            Ok(CommandExit::Success)
        }
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
    let checkouts = ids.iter().map(|id| find_checkout(id, &all)).collect::<Result<Vec<_>, CliError>>()?;
    for checkout in checkouts {
        let MovedCheckout { task, location } = move_to_trash(setup, checkout)?;
        match location {
            Some(name) => print::output(format_args!("{task}  in the trash as {name}")),
            None => print::output(format_args!("{task}  removed")),
        }
    }
    Ok(CommandExit::Success)
}

/// Moves a checkout that no agent works in to the trash.
pub(crate) fn discard(setup: &Setup, prefix: &str) -> Result<MovedCheckout, CliError> {
    let all = Checkout::all(&git_in_home(setup), &setup.home);
    move_to_trash(setup, find_checkout(prefix, &all)?)
}

fn move_to_trash(setup: &Setup, checkout: &Checkout) -> Result<MovedCheckout, CliError> {
    let task = checkout.id().task.to_string();
    match checkout.clone().trash(&setup.home, SystemClock.now(), "removed by the user") {
        Ok(DiscardOutcome::Trashed { name, .. }) => Ok(MovedCheckout { task, location: Some(name) }),
        Ok(DiscardOutcome::Removed(_)) => Ok(MovedCheckout { task, location: None }),
        Err(error) => Err(CliError::failed(error)),
    }
}

/// Restores a checkout from the trash.
pub(crate) fn restore(setup: &Setup, prefix: &str) -> Result<MovedCheckout, CliError> {
    let all = TrashedCheckout::all(&setup.home);
    let trashed = find_by_prefix(prefix, &all, |trashed| trashed.id.task.to_string())?;
    let path = trashed.restore(&setup.home).map_err(CliError::failed)?;
    Ok(MovedCheckout { task: trashed.id.task.to_string(), location: Some(path.display().to_string()) })
}

fn find_checkout<'a>(prefix: &str, all: &'a [Checkout]) -> Result<&'a Checkout, CliError> {
    find_by_prefix(prefix, all, |checkout| checkout.id().task.to_string())
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
