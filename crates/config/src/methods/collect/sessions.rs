//! Removes sessions that were idle for a long time. Running, parked and interrupted sessions have work in them and stay;
//! only the output of their removed tasks is deleted. Also removes checkouts of removed sessions, unused todo results and
//! refs to landed work, and empties the trash of old entries.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use client::{SessionHandle, SessionQuery, SessionRow, fleet_results, sessions};
use host::{Clock, Home, SystemClock};
use protocol::api::{CollectParams, CollectResult, SessionView};
use protocol::text::{one_line, sanitize};
use protocol::{SessionId, Timestamp};

use super::refs::RefCleanupOptions;
use super::{checkouts, file_copies, outputs, refs};
use crate::assemble::{SettingsSources, working_folder};
use crate::config::Config;
use crate::methods::error::SettingsMethodError;

/// What is reported while sessions are removed.
#[derive(Debug)]
pub enum CollectNote {
    /// A session was removed, or would be.
    Removed(SessionId, String),
    /// Something could not be removed.
    Failed(String),
}

/// Receives notes while the work is done.
pub type CollectNotes<'a> = &'a (dyn Fn(CollectNote) + Send + Sync);

impl SettingsSources<'_> {
    /// Cleans up, and reports each session that is removed and each failure.
    pub async fn collect(
        &self,
        user: &Config,
        params: CollectParams,
        note: CollectNotes<'_>,
    ) -> Result<CollectResult, SettingsMethodError> {
        let CollectParams { unlanded, days, dry_run } = params;
        let now = SystemClock.now();
        let retention = Duration::from_secs(u64::from(days.unwrap_or(user.retention_days)) * 86_400);
        // Reconciling brings each row up to date with its session's file.
        let rows = sessions::list(self.home, &SessionQuery::default())?.rows;
        let is_expired = |row: &SessionRow| {
            now.since(row.updated_at) > retention
                && row.state == "idle"
                && !row.has_open_asks
                && row.owner_pid.is_none()
        };
        let (old, kept): (Vec<SessionRow>, Vec<SessionRow>) = rows.into_iter().partition(is_expired);
        let mut folders: BTreeSet<PathBuf> = old.iter().chain(&kept).map(|row| PathBuf::from(&row.cwd)).collect();
        folders.extend(working_folder(None));
        let outputs = outputs::collect(self.home, kept.iter().map(|row| row.id), dry_run, note);
        let cutoff = before(now, retention);
        let file_copies = file_copies::collect(self.home, kept.iter().map(|row| row.id), (cutoff, dry_run), note);
        let results = drop_unused_results(self.home, now, retention, dry_run)?;
        let empty = find_empty_sessions(self.home, retention)?.into_iter().map(|id| (id, "never started".to_owned()));
        let old = old.into_iter().map(|row| {
            let title = sanitize(&one_line(&row.title, 50));
            (row.id, format!("{}  {title}", protocol::format_age(row.updated_at, now)))
        });
        let (mut removed, mut failed) = (BTreeSet::new(), Vec::new());
        for (id, description) in old.chain(empty) {
            match if dry_run { Ok(()) } else { sessions::remove(self.home, id) } {
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
        let trash_retention = Duration::from_secs(u64::from(user.trash_days) * 86_400);
        let checkouts = checkouts::collect(self, now, trash_retention, dry_run, note).await;
        // After the checkouts, because removing them turns their work into refs.
        let removed_ids = removed.iter().map(SessionId::to_string).collect();
        let refs = refs::collect(self, folders, &RefCleanupOptions { removed, unlanded, dry_run }, note).await;
        let kept = kept.len() as u64;
        Ok(CollectResult {
            removed: removed_ids,
            kept,
            failed,
            outputs,
            file_copies,
            results,
            checkouts,
            refs,
            dry_run,
        })
    }
}

/// The time that lies so far back.
fn before(now: Timestamp, age: Duration) -> Timestamp {
    Timestamp(now.0.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX)))
}

/// Drops results that no fleet used within the retention time, and returns their number.
fn drop_unused_results(
    home: &Home,
    now: Timestamp,
    retention: Duration,
    dry_run: bool,
) -> Result<u64, SettingsMethodError> {
    let cutoff = before(now, retention);
    let results = if dry_run {
        fleet_results::count_unused_since(home, cutoff)?
    } else {
        fleet_results::remove_unused_since(home, cutoff)?
    };
    Ok(results as u64)
}

/// Finds sessions whose process died before the first commit. No list shows them, and they hold no work.
fn find_empty_sessions(home: &Home, retention: Duration) -> Result<Vec<SessionId>, SettingsMethodError> {
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
