//! `bosun cost`: what sessions spent, from the index; from their own rows where only a part is wanted.

mod csv;
mod sum;
mod table;
mod today;

use host::{Clock, Home, SystemClock};
use protocol::{At, SessionId};
use store::{Index, Reader, Spending, StoreError};

use crate::args::CostArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::find;
use crate::setup::Setup;
use crate::{print, setup};
use sum::Sums;
use today::Today;

pub(crate) fn sum(args: &CostArgs) -> Result<Exit, Failure> {
    let Setup { home, config, .. } = Setup::to_read()?;
    let today = Today::read(&home, config.day_budget, SystemClock.now())?;
    let since = args.since.map(|time| SystemClock.now().minus(time));
    let mut sums = Sums::new(args.by);
    let mut exit = Exit::Success;
    for id in counted(&home, args, since.unwrap_or_default(), &mut sums)? {
        match read(&home, id, since.unwrap_or_default()) {
            Ok((title, spendings)) => spendings.into_iter().for_each(|spending| sums.add(id, &title, spending)),
            Err(error) => {
                print::error(&format!("{id} is left out: {error}"));
                exit = Exit::Failed;
            }
        }
    }
    if args.json {
        print::json(&sums.written(since, today));
    } else if args.csv {
        print::document(csv::of(&sums).as_bytes());
    } else {
        table::show(&sums);
        today.show();
    }
    Ok(exit)
}

/// Adds what the index knows. Gives the sessions whose own files have to be read: those that were named, and those of
/// which only a part is wanted.
fn counted(home: &Home, args: &CostArgs, since: At, sums: &mut Sums) -> Result<Vec<SessionId>, Failure> {
    if !args.ids.is_empty() {
        let mut ids = args.ids.iter().map(|prefix| find(home, prefix)).collect::<Result<Vec<_>, _>>()?;
        ids.sort_unstable();
        ids.dedup();
        return Ok(ids);
    }
    let here = if args.here { Some(setup::folder(None)?.display().to_string()) } else { None };
    let spent = Index::current(home)?.spendings(here.as_deref(), since)?;
    spent.spendings.into_iter().for_each(|(id, title, spending)| sums.add(id, &title, spending));
    Ok(spent.in_part)
}

fn read(home: &Home, id: SessionId, since: At) -> Result<(String, Vec<Spending>), StoreError> {
    let reader = Reader::open(home, id)?;
    Ok((reader.session_view()?.title, reader.spendings(since)?))
}
