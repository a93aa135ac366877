//! `bosun cost`: spending of sessions, from the index, or from their own files if only a part is wanted.

mod csv;
mod sum;
mod table;
mod today;

use client::{StoreError, StoredSession, TaskSpending};
use host::{Clock, Home, SystemClock};
use protocol::{SessionId, Timestamp};

use crate::args::CostArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::run::find_session;
use crate::setup::Setup;
use crate::{print, setup};
use sum::CostTotals;
use today::DailySpending;

pub(crate) fn print_costs(args: &CostArgs) -> Result<CommandExit, CliError> {
    let Setup { home, config, .. } = Setup::read_only()?;
    let today = DailySpending::read(&home, config.day_budget, SystemClock.now())?;
    let since = args.since.map(|time| SystemClock.now().minus(time));
    let mut sums = CostTotals::new(args.by);
    let mut exit = CommandExit::Success;
    for id in add_indexed(&home, args, since.unwrap_or_default(), &mut sums)? {
        match read_session(&home, id, since.unwrap_or_default()) {
            Ok((title, spendings)) => spendings.into_iter().for_each(|spending| sums.add(id, &title, spending)),
            Err(error) => {
                print::error(&format!("{id} is left out: {error}"));
                exit = CommandExit::Failed;
            }
        }
    }
    if args.json {
        print::json(&sums.to_report(since, today));
    } else if args.csv {
        print::document(csv::to_csv(&sums).as_bytes());
    } else {
        table::print_table(&sums);
        today.show();
    }
    Ok(exit)
}

/// Adds the spending in the index. Returns the sessions whose own files must be read: named ones, and those of which
/// only a part is wanted.
fn add_indexed(
    home: &Home,
    args: &CostArgs,
    since: Timestamp,
    sums: &mut CostTotals,
) -> Result<Vec<SessionId>, CliError> {
    if !args.ids.is_empty() {
        let mut ids = args.ids.iter().map(|prefix| find_session(home, prefix)).collect::<Result<Vec<_>, _>>()?;
        ids.sort_unstable();
        ids.dedup();
        return Ok(ids);
    }
    let folder = if args.here { Some(setup::working_folder(None)?.display().to_string()) } else { None };
    let indexed = client::sessions::spendings(home, folder.as_deref(), since)?;
    indexed.spendings.into_iter().for_each(|(id, title, spending)| sums.add(id, &title, spending));
    Ok(indexed.partly_counted)
}

fn read_session(home: &Home, id: SessionId, since: Timestamp) -> Result<(String, Vec<TaskSpending>), StoreError> {
    let reader = StoredSession::open(home, id)?;
    Ok((reader.view()?.title, reader.spendings(since)?))
}
