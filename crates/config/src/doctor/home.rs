//! Checks of Bosun's home folder, its sessions and leftovers.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use client::{HeaderStatus, SessionHandle};
use host::{Home, machine};
use protocol::{SessionId, TaskState};

use super::{DoctorCheck, DoctorContext};

/// Time limit for adding up sizes; after it, the sum is reported as a minimum.
const SIZE_TIMEOUT: Duration = Duration::from_millis(300);

/// Maximum number of sessions whose state is read.
const MAX_INSPECTED_SESSIONS: usize = 50;

/// Maximum number of sessions listed one by one.
const MAX_LISTED_SESSIONS: usize = 5;

/// Less free space than this is a warning, and less than a tenth of it a failure.
const LOW_SPACE_BYTES: u64 = 1 << 30;

pub(super) fn checks(context: &DoctorContext) -> Vec<DoctorCheck> {
    let Some(root) = &context.home else {
        return vec![DoctorCheck::fail(
            "home",
            "neither BOSUN_HOME nor HOME is set",
            "set BOSUN_HOME to a folder of your own",
        )];
    };
    let mut checks = vec![home_folder(root), free_space(root)];
    if let Some(home) = Home::open_as_is(root) {
        checks.extend(sessions(&home));
    }
    checks
}

fn home_folder(root: &Path) -> DoctorCheck {
    match Home::check(root) {
        Ok(()) if root.exists() => DoctorCheck::ok("home", root.display().to_string()),
        Ok(()) => {
            DoctorCheck::note("home", format!("{} does not exist yet; the first session creates it", root.display()))
        }
        // The error message ends with the remedy.
        Err(error) => {
            let error = error.to_string();
            let (text, remedy) = error.split_once("; ").unwrap_or((&error, "set BOSUN_HOME to a folder of your own"));
            DoctorCheck::fail("home", text, remedy)
        }
    }
}

fn free_space(root: &Path) -> DoctorCheck {
    let existing = root.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    match machine::free_bytes(existing) {
        Ok(free) if free < LOW_SPACE_BYTES / 10 => DoctorCheck::fail(
            "disk",
            format!("{} free for {}", format_bytes(free), root.display()),
            "free some space; `bosun gc --days 30` removes old sessions",
        ),
        Ok(free) if free < LOW_SPACE_BYTES => DoctorCheck::warn(
            "disk",
            format!("{} free for {}", format_bytes(free), root.display()),
            "free some space; `bosun gc --days 30` removes old sessions",
        ),
        Ok(free) => DoctorCheck::ok("disk", format!("{} free", format_bytes(free))),
        Err(error) => {
            DoctorCheck::warn("disk", format!("free space is unknown: {error}"), "check that the disk is mounted")
        }
    }
}

/// Checks the disk usage of sessions, and lists unreadable and interrupted ones.
fn sessions(home: &Home) -> Vec<DoctorCheck> {
    let folder = home.sessions_dir();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return vec![DoctorCheck::note("sessions", "none yet")];
        }
        Err(error) => {
            let text = format!("cannot read {}: {error}", folder.display());
            return vec![DoctorCheck::fail("sessions", text, "make it readable, or set BOSUN_HOME to another folder")];
        }
    };
    let mut ids: Vec<SessionId> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    // Ids begin with the time, so this is newest first.
    ids.sort_by_key(|id| std::cmp::Reverse(id.uuid()));
    let mut checks = vec![disk_usage(home, &ids)];
    checks.extend(limit_checks(ids.iter().filter_map(|id| unreadable_session(home, *id)).collect()));
    let unmerged = ids.iter().filter(|id| has_open_log(home, **id)).take(MAX_INSPECTED_SESSIONS);
    checks.extend(limit_checks(unmerged.filter_map(|id| interrupted_session(home, *id)).collect()));
    checks.extend(leftover_checkouts(home));
    checks
}

/// Reports checkouts of removed sessions, and checkouts in the trash.
fn leftover_checkouts(home: &Home) -> Option<DoctorCheck> {
    let folders = fs::read_dir(home.checkouts_dir()).into_iter().flatten().flatten();
    let is_orphan = |name: &str| name.parse().is_ok_and(|id: SessionId| !home.session_dir(id).exists());
    let orphans = folders.filter(|folder| folder.file_name().to_str().is_some_and(is_orphan)).count();
    let trashed = fs::read_dir(home.trash_dir()).into_iter().flatten().count();
    let text = match (orphans, trashed) {
        (0, 0) => return None,
        (0, trashed) => return Some(DoctorCheck::note("checkouts", format!("{trashed} in the trash"))),
        (orphans, trashed) => format!("checkouts of {orphans} removed sessions are left, {trashed} are in the trash"),
    };
    Some(DoctorCheck::warn("checkouts", text, "`bosun gc` removes what is kept elsewhere"))
}

/// Keeps the first checks, and counts the rest.
fn limit_checks(mut checks: Vec<DoctorCheck>) -> Vec<DoctorCheck> {
    let more = checks.len().saturating_sub(MAX_LISTED_SESSIONS);
    checks.truncate(MAX_LISTED_SESSIONS);
    if more > 0 {
        checks.push(DoctorCheck::warn(
            "sessions",
            format!("the same applies to {more} more"),
            "`bosun sessions` lists them all",
        ));
    }
    checks
}

fn disk_usage(home: &Home, ids: &[SessionId]) -> DoctorCheck {
    let started = Instant::now();
    let mut bytes = 0;
    let mut is_complete = true;
    for id in ids {
        is_complete = started.elapsed() < SIZE_TIMEOUT;
        if !is_complete {
            break;
        }
        bytes += size_of_files(&home.session_dir(*id)) + size_of_files(&home.output_dir(*id));
    }
    let prefix = if is_complete { "" } else { "at least " };
    DoctorCheck::ok("sessions", format!("{}, {prefix}{}", ids.len(), format_bytes(bytes)))
}

fn size_of_files(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.metadata().ok());
    files.filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}

fn unreadable_session(home: &Home, id: SessionId) -> Option<DoctorCheck> {
    let path = home.session_db(id);
    let (reason, remedy) = match client::inspect_header(&path) {
        Ok(HeaderStatus::Current | HeaderStatus::Older | HeaderStatus::Empty) => return None,
        Ok(HeaderStatus::Newer(version)) => {
            (format!("a newer Bosun wrote it (format {version})"), "open it with that version".to_owned())
        }
        Ok(HeaderStatus::NotSession) => (
            "its file is damaged".to_owned(),
            format!("bosun sessions export {id} saves what can be read; bosun sessions rm {id} removes it"),
        ),
        Err(error) => (format!("{}: {error}", path.display()), "make the file readable".to_owned()),
    };
    Some(DoctorCheck::warn("sessions", format!("{id} cannot be read: {reason}"), remedy))
}

/// Whether the session has a WAL that was not merged into its file: it runs, or its owner died.
fn has_open_log(home: &Home, id: SessionId) -> bool {
    let path = home.session_db(id);
    let is_current = matches!(client::inspect_header(&path), Ok(HeaderStatus::Current | HeaderStatus::Empty));
    let log = path.with_extension("db-wal");
    is_current && fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// Reports a session that was at work when its owner died.
fn interrupted_session(home: &Home, id: SessionId) -> Option<DoctorCheck> {
    let reader = SessionHandle::new(home, id);
    let alive = reader.owner_pid().ok()?.is_some();
    let state = reader.view().ok()?.state;
    match state {
        TaskState::Interrupted if !alive => Some(DoctorCheck::warn(
            "sessions",
            format!("{id} was at work when its process ended"),
            format!("resume with: {}", client::resume_command(home, id)),
        )),
        TaskState::Running
        | TaskState::Queued
        | TaskState::Idle
        | TaskState::Parked { .. }
        | TaskState::Interrupted
        | TaskState::Finished { .. } => None,
    }
}

/// Formats a number of bytes for users.
pub(super) fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut scaled = bytes as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(
            [0, 512, 4 << 20, 3 << 30, u64::MAX].map(format_bytes),
            ["0.0 KiB", "0.5 KiB", "4.0 MiB", "3.0 GiB", "16777216.0 TiB"]
        );
    }
}
