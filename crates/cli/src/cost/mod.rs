//! `bosun cost`: what sessions used and spent.

mod csv;
mod report;
mod table;
mod today;

use client::usage::{self, UsageQuery};
use host::{Clock, SystemClock};
use tui::print;

use crate::args::CostArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::run::find_session;
use crate::setup;
use crate::setup::Setup;
use report::CostReport;
use today::DailySpending;

pub(crate) fn print_costs(args: &CostArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read_only()?;
    let today = DailySpending::from(setup.sources().usage_today(&setup.config, SystemClock.now())?);
    let home = &setup.home;
    let query = UsageQuery {
        sessions: args.ids.iter().map(|prefix| find_session(home, prefix)).collect::<Result<_, _>>()?,
        cwd: if args.here { Some(setup::working_folder(None)?.display().to_string()) } else { None },
        since_at: args.since.map(|time| SystemClock.now().minus(time)),
        by: args.by.into(),
    };
    let usage = usage::report(home, &query)?;
    for unreadable in &usage.unreadable {
        print::error(&format!("{} is left out: {}", unreadable.session, unreadable.why));
    }
    if args.json {
        print::json(&CostReport::new(&usage, query.since_at, today));
    } else if args.csv {
        print::document(csv::to_csv(&usage).as_bytes());
    } else {
        table::print_table(&usage);
        today.show();
    }
    Ok(if usage.unreadable.is_empty() { CommandExit::Success } else { CommandExit::Failed })
}
