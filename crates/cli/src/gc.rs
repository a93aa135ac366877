//! `bosun gc`: removes sessions that were idle for a long time. Running, parked and interrupted sessions have work in
//! them and stay; only the output of their removed tasks is deleted. It also removes checkouts of removed sessions,
//! unused todo results and refs to landed work, and empties the trash of old entries.

mod checkouts;
mod outputs;
mod refs;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use client::{SessionHandle, SessionQuery, SessionRow, fleet_results, sessions};
use host::{Clock, Home, SystemClock};
use protocol::api::{CheckoutCleanup, CollectParams, CollectResult, OutputCleanup, RefCleanup, SessionView};
use protocol::{SessionId, Timestamp};
use tui::print;

use crate::args::GcArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use refs::RefCleanupOptions;

/// What is reported while sessions are removed.
#[derive(Debug)]
pub(crate) enum CollectNote {
    /// A session was removed, or would be.
    Removed(SessionId, String),
    /// Something could not be removed.
    Failed(String),
}

/// Receives notes while the work is done.
pub(crate) type CollectNotes<'a> = &'a (dyn Fn(CollectNote) + Send + Sync);

pub(crate) async fn perform(args: &GcArgs) -> Result<CommandExit, CliError> {
    let GcArgs { unlanded, days, dry_run, json } = *args;
    let note = move |note| match note {
        CollectNote::Removed(id, description) if !json => print::output(format_args!("{id}  {description}")),
        CollectNote::Removed(..) => {}
        CollectNote::Failed(error) => print::error(&error),
    };
    let report = collect(&Setup::read()?, CollectParams { unlanded, days, dry_run }, &note).await?;
    if json {
        print::json(&report);
    } else {
        print_report(&report);
    }
    Ok(if report.failed.is_empty() { CommandExit::Success } else { CommandExit::Failed })
}

/// Cleans up, and reports each session that is removed and each failure.
pub(crate) async fn collect(
    setup: &Setup,
    params: CollectParams,
    note: CollectNotes<'_>,
) -> Result<CollectResult, CliError> {
    let CollectParams { unlanded, days, dry_run } = params;
    let now = SystemClock.now();
    let retention = Duration::from_secs(u64::from(days.unwrap_or(setup.config.retention_days)) * 86_400);
    // Reconciling brings each row up to date with its session's file.
    let rows = sessions::list(&setup.home, &SessionQuery::default())?.rows;
    let is_expired = |row: &SessionRow| {
        now.since(row.updated_at) > retention && row.state == "idle" && !row.has_open_asks && row.owner_pid.is_none()
    };
    let (old, kept): (Vec<SessionRow>, Vec<SessionRow>) = rows.into_iter().partition(is_expired);
    let mut folders: BTreeSet<PathBuf> = old.iter().chain(&kept).map(|row| PathBuf::from(&row.cwd)).collect();
    folders.extend(crate::setup::working_folder(None));
    let outputs = outputs::collect(&setup.home, kept.iter().map(|row| row.id), dry_run, note);
    let results = drop_unused_results(&setup.home, now, retention, dry_run)?;
    let empty = find_empty_sessions(&setup.home, retention)?.into_iter().map(|id| (id, "never started".to_owned()));
    let old = old.into_iter().map(|row| {
        let title = print::sanitize(&print::one_line(&row.title, 50));
        (row.id, format!("{}  {title}", protocol::format_age(row.updated_at, now)))
    });
    let (mut removed, mut failed) = (BTreeSet::new(), Vec::new());
    for (id, description) in old.chain(empty) {
        match if dry_run { Ok(()) } else { sessions::remove(&setup.home, id) } {
            Ok(()) => {
                note(CollectNote::Removed(id, description));
                removed.insert(id);
            }
            Err(error) => {
                note(CollectNote::Failed(format!("{id}: {error}")));
                failed.push(id.to_string());
            }
        }
    }
    let trash_retention = Duration::from_secs(u64::from(setup.config.trash_days) * 86_400);
    let checkouts = checkouts::collect(setup, now, trash_retention, dry_run, note).await;
    // After the checkouts, because removing them turns their work into refs.
    let removed_ids = removed.iter().map(SessionId::to_string).collect();
    let refs = refs::collect(setup, folders, &RefCleanupOptions { removed, unlanded, dry_run }, note).await;
    let kept = kept.len() as u64;
    Ok(CollectResult { removed: removed_ids, kept, failed, outputs, results, checkouts, refs, dry_run })
}

fn print_report(report: &CollectResult) {
    let verb = if report.dry_run { "would be removed" } else { "removed" };
    let pluralize = |count: u64, noun| print::pluralize(usize::try_from(count).unwrap_or(usize::MAX), noun);
    print::note(format_args!("{} {verb}, {} kept", report.removed.len(), report.kept));
    if let OutputCleanup { removed: count @ 1.., bytes } = report.outputs {
        print::note(format_args!("output of {count} tasks {verb}: {bytes} bytes"));
    }
    if report.results > 0 {
        print::note(format_args!("results of {} {verb}", pluralize(report.results, "todo")));
    }
    let CheckoutCleanup { removed, trashed, emptied, bytes } = report.checkouts;
    if removed + trashed + emptied > 0 {
        let moved = if trashed > 0 { format!(", {trashed} moved to the trash") } else { String::new() };
        let checkouts = pluralize(removed + emptied, "checkout");
        print::note(format_args!("{checkouts} {verb}: {bytes} bytes{moved}"));
    }
    let RefCleanup { removed, unlanded, landings } = report.refs;
    if removed > 0 {
        print::note(format_args!("{} in repositories {verb}", pluralize(removed, "ref")));
    }
    if landings > 0 {
        print::note(format_args!("{} of interrupted landings removed", pluralize(landings, "folder")));
    }
    if unlanded > 0 {
        print::note(format_args!(
            "{} of removed sessions kept: the work is not on any branch (`git for-each-ref refs/bosun` lists it); \
             `bosun gc --unlanded` removes it",
            pluralize(unlanded, "ref")
        ));
    }
}

/// Drops results that no fleet used within the retention time, and returns their number.
fn drop_unused_results(home: &Home, now: Timestamp, retention: Duration, dry_run: bool) -> Result<u64, CliError> {
    let age = u64::try_from(retention.as_millis()).unwrap_or(u64::MAX);
    let cutoff = Timestamp(now.0.saturating_sub(age));
    let results = if dry_run {
        fleet_results::count_unused_since(home, cutoff)?
    } else {
        fleet_results::remove_unused_since(home, cutoff)?
    };
    Ok(results as u64)
}

/// Finds sessions whose process died before the first commit. No list shows them, and they hold no work.
fn find_empty_sessions(home: &Home, retention: Duration) -> Result<Vec<SessionId>, CliError> {
    let mut ids = Vec::new();
    for folder in fs::read_dir(home.sessions_dir())? {
        let folder = folder?;
        let Some(id) = folder.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let is_old = folder
            .metadata()
            .and_then(|folder| folder.modified())
            .is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > retention));
        let is_empty = |view: SessionView| view.owner_pid.is_none() && view.events == 0;
        if is_old && SessionHandle::new(home, id).view().is_ok_and(is_empty) {
            ids.push(id);
        }
    }
    Ok(ids)
}
