//! `bosun gc`: removes sessions that nobody touched for a long time. One that is running, parked or interrupted
//! has work in it and stays.

use std::time::Duration;

use host::{Clock, SystemClock};
use serde::Serialize;
use store::{Index, SessionRow};

use crate::args::GcArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::{print, time};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    removed: Vec<String>,
    kept: usize,
    failed: Vec<String>,
    dry_run: bool,
}

pub(crate) fn collect(args: &GcArgs) -> Result<Exit, Failure> {
    let setup = Setup::read()?;
    let now = SystemClock.now();
    let keep = Duration::from_secs(u64::from(args.days.unwrap_or(setup.config.retention_days)) * 86_400);
    let rows = Index::open(&setup.home)?.agree(&setup.home)?.list(None)?;
    let (old, young): (Vec<SessionRow>, Vec<SessionRow>) =
        rows.into_iter().partition(|row| now.since(row.updated_at) > keep && row.state == "idle");
    let mut report = Report { removed: Vec::new(), kept: young.len(), failed: Vec::new(), dry_run: args.dry_run };
    for row in old {
        let removed = if args.dry_run { Ok(()) } else { crate::sessions::remove(&setup.home, row.id) };
        match removed {
            Ok(()) => {
                if !args.json {
                    let title = print::plain(&print::one_line(&row.title, 50));
                    print::answer(format_args!("{}  {}  {title}", row.id, time::ago(row.updated_at, now)));
                }
                report.removed.push(row.id.to_string());
            }
            Err(error) => {
                print::error(&format!("{}: {error}", row.id));
                report.failed.push(row.id.to_string());
            }
        }
    }
    let exit = if report.failed.is_empty() { Exit::Success } else { Exit::Failed };
    if args.json {
        print::json(&report);
    } else {
        let verb = if args.dry_run { "would be removed" } else { "removed" };
        print::note(format_args!("{} {verb}, {} kept", report.removed.len(), report.kept));
    }
    Ok(exit)
}
