//! `bosun gc`: removes sessions that nobody touched for a long time. One that is running, parked or interrupted
//! has work in it and stays; only the output of its removed tasks goes. Checkouts of removed sessions go as well, results
//! of todos that no fleet used, refs to work that has landed, and the trash is emptied of what was there for long enough.

mod checkouts;
mod outputs;
mod refs;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use host::{Clock, Home, SystemClock};
use protocol::{SessionId, Timestamp};
use serde::Serialize;
use store::{FleetResultStore, SessionIndex, SessionQuery, SessionReader, SessionRow};

use crate::args::GcArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use crate::{print, time};
use checkouts::CheckoutCleanup;
use outputs::OutputCleanup;
use refs::{RefCleanup, RefCleanupOptions};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GcReport {
    removed: Vec<String>,
    kept: usize,
    failed: Vec<String>,
    /// What commands printed that nobody can ask for any more.
    outputs: OutputCleanup,
    /// Results of todos that no fleet used for as long.
    results: usize,
    /// Checkouts that nobody needs.
    checkouts: CheckoutCleanup,
    /// What sessions left in the repositories of users.
    refs: RefCleanup,
    dry_run: bool,
}

pub(crate) async fn collect(args: &GcArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    let now = SystemClock.now();
    let keep = Duration::from_secs(u64::from(args.days.unwrap_or(setup.config.retention_days)) * 86_400);
    // Each is as its file is now.
    let rows =
        SessionIndex::open(&setup.home)?.reconcile(&setup.home)?.page(&setup.home, &SessionQuery::default())?.rows;
    let is_over = |row: &SessionRow| {
        now.since(row.updated_at) > keep && row.state == "idle" && !row.has_open_asks && row.owner_pid.is_none()
    };
    let (old, young): (Vec<SessionRow>, Vec<SessionRow>) = rows.into_iter().partition(is_over);
    let dry_run = args.dry_run;
    let mut folders: BTreeSet<PathBuf> = old.iter().chain(&young).map(|row| PathBuf::from(&row.cwd)).collect();
    folders.extend(crate::setup::folder(None));
    let outputs = outputs::collect(&setup.home, young.iter().map(|row| row.id), dry_run);
    let results = drop_unused_results(&setup.home, now, keep, dry_run)?;
    let mut report = GcReport {
        removed: Vec::new(),
        kept: young.len(),
        failed: Vec::new(),
        outputs,
        results,
        checkouts: CheckoutCleanup::default(),
        refs: RefCleanup::default(),
        dry_run,
    };
    let unbegun = find_empty_sessions(&setup.home, keep)?.into_iter().map(|id| (id, "never begun".to_owned()));
    let old = old.into_iter().map(|row| {
        let title = print::sanitize(&print::one_line(&row.title, 50));
        (row.id, format!("{}  {title}", time::format_age(row.updated_at, now)))
    });
    let mut gone = BTreeSet::new();
    for (id, what) in old.chain(unbegun) {
        let removed = if args.dry_run { Ok(()) } else { crate::sessions::remove(&setup.home, id) };
        match removed {
            Ok(()) => {
                if !args.json {
                    print::output(format_args!("{id}  {what}"));
                }
                gone.insert(id);
                report.removed.push(id.to_string());
            }
            Err(error) => {
                print::error(&format!("{id}: {error}"));
                report.failed.push(id.to_string());
            }
        }
    }
    let trash = Duration::from_secs(u64::from(setup.config.trash_days) * 86_400);
    report.checkouts = checkouts::collect(&setup, now, trash, dry_run).await;
    // After the checkouts, whose work becomes a ref.
    let wanted = RefCleanupOptions { removed: gone, unlanded: args.unlanded, dry_run };
    report.refs = refs::collect(&setup, folders, &wanted).await;
    let exit = if report.failed.is_empty() { CommandExit::Success } else { CommandExit::Failed };
    if args.json {
        print::json(&report);
    } else {
        let verb = if args.dry_run { "would be removed" } else { "removed" };
        print::note(format_args!("{} {verb}, {} kept", report.removed.len(), report.kept));
        if let OutputCleanup { removed: count @ 1.., bytes } = report.outputs {
            print::note(format_args!("output of {count} tasks {verb}: {bytes} bytes"));
        }
        if report.results > 0 {
            print::note(format_args!("results of {} {verb}", print::pluralize(report.results, "todo")));
        }
        let CheckoutCleanup { removed, trashed, emptied, bytes } = report.checkouts;
        if removed + trashed + emptied > 0 {
            let moved = if trashed > 0 { format!(", {trashed} moved to the trash") } else { String::new() };
            print::note(format_args!("{} of checkouts {verb}: {bytes} bytes{moved}", removed + emptied));
        }
        let RefCleanup { removed, unlanded, landings } = report.refs;
        if removed > 0 {
            print::note(format_args!("{} in repositories {verb}", print::pluralize(removed, "ref")));
        }
        if landings > 0 {
            print::note(format_args!("{} of killed landings removed", print::pluralize(landings, "folder")));
        }
        if unlanded > 0 {
            print::note(format_args!(
                "{} of removed sessions kept: the work is on no branch (`git for-each-ref refs/bosun` lists it); \
                 `bosun gc --unlanded` removes it",
                print::pluralize(unlanded, "ref")
            ));
        }
    }
    Ok(exit)
}

/// Drops the results that no fleet used for so long, and says how many there are.
fn drop_unused_results(home: &Home, now: Timestamp, keep: Duration, dry_run: bool) -> Result<usize, CliError> {
    let age = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
    let then = Timestamp(now.0.saturating_sub(age));
    Ok(if dry_run { FleetResultStore::count_before(home, then)? } else { FleetResultStore::drop_before(home, then)? })
}

/// Folders of sessions whose process died before their first commit. No list shows them, and there is nothing in
/// them to lose.
fn find_empty_sessions(home: &Home, keep: Duration) -> Result<Vec<SessionId>, CliError> {
    let mut found = Vec::new();
    for folder in fs::read_dir(home.sessions_dir())? {
        let folder = folder?;
        let Some(id) = folder.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let old = folder
            .metadata()
            .and_then(|folder| folder.modified())
            .is_ok_and(|then| then.elapsed().is_ok_and(|age| age > keep));
        let empty = |reader: SessionReader| {
            Ok(reader.lease()?.is_none_or(|(_, owner)| !owner.is_alive()) && reader.session_view()?.events == 0)
        };
        if old && SessionReader::open(home, id).and_then(empty).unwrap_or(false) {
            found.push(id);
        }
    }
    Ok(found)
}
