//! `bosun checkouts`: the checkouts that agents work in, and those in the trash.

mod list;

use git::{Checkout, DiscardOutcome, Git, TrashedCheckout};
use host::{Clock, Guardian, SystemClock};

use crate::args::{CheckoutsArgs, CheckoutsCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::Setup;

pub(crate) fn perform(args: &CheckoutsArgs) -> Result<Exit, Failure> {
    let setup = Setup::read()?;
    match &args.command {
        None => list::list(&setup, args.json),
        Some(CheckoutsCommand::Rm { ids }) => remove(&setup, ids),
        Some(CheckoutsCommand::Restore { id }) => restore(&setup, id),
    }
}

/// Git, for what is done in Bosun's home and in the repositories that checkouts were made from.
pub(crate) fn git(setup: &Setup) -> Git {
    let guardian = Guardian::new("/proc/self/exe".into());
    let known = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name.into(), setup.env.text(name)?.into())));
    Git::new(guardian, setup.home.root(), &known.collect::<Vec<_>>())
}

fn remove(setup: &Setup, ids: &[String]) -> Result<Exit, Failure> {
    let all = Checkout::all(&git(setup), &setup.home);
    // All of them are found before the first is moved.
    let found = ids.iter().map(|id| one(id, &all, |checkout| checkout.id().task.to_string()));
    for checkout in found.collect::<Result<Vec<_>, Failure>>()? {
        match checkout.clone().trash(&setup.home, SystemClock.now(), "removed by hand") {
            Ok(DiscardOutcome::Trashed { name, .. }) => {
                print::answer(format_args!("{}  in the trash as {name}", checkout.id().task));
            }
            Ok(DiscardOutcome::Removed(_)) => print::answer(format_args!("{}  removed", checkout.id().task)),
            Err(error) => return Err(Failure::failed(error)),
        }
    }
    Ok(Exit::Success)
}

fn restore(setup: &Setup, id: &str) -> Result<Exit, Failure> {
    let all = TrashedCheckout::all(&setup.home);
    let path = one(id, &all, |trashed| trashed.id.task.to_string())?.restore(&setup.home).map_err(Failure::failed)?;
    print::answer(path.display());
    Ok(Exit::Success)
}

/// The one that is meant.
fn one<'a, T>(given: &str, all: &'a [T], id: impl Fn(&T) -> String) -> Result<&'a T, Failure> {
    let fits = |one: &&T| {
        id(one) == given || id(one).trim_start_matches("task-").starts_with(given.trim_start_matches("task-"))
    };
    let fitting: Vec<&T> = all.iter().filter(fits).collect();
    let hint = "`bosun checkouts` lists them";
    match fitting[..] {
        [one] if !given.is_empty() => Ok(one),
        [] | [_] => Err(Failure::usage(format!("there is no checkout `{given}`")).hint(hint)),
        _ => Err(Failure::usage(format!("`{given}` is the beginning of {} ids", fitting.len())).hint(hint)),
    }
}
