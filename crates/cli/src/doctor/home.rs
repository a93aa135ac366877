//! Bosun's folder: whether it can be used, what is in it, and what was left behind in it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use host::{Home, machine};
use protocol::{SessionId, TaskState};
use store::{Look, Reader};

use super::{Check, Scene};

/// How long sizes are added up; after it, the sum is said to be a part.
const PATIENCE: Duration = Duration::from_millis(300);

/// Most sessions that are asked what they were doing.
const ASKED: usize = 50;

/// Most sessions that are told one by one.
const TOLD: usize = 5;

/// Less room than this is told, and less than a tenth of it is a failure.
const LOW: u64 = 1 << 30;

pub(super) fn checks(scene: &Scene) -> Vec<Check> {
    let Some(root) = &scene.home else {
        return vec![Check::fail(
            "home",
            "neither BOSUN_HOME nor HOME is set",
            "set BOSUN_HOME to a folder of your own",
        )];
    };
    let mut checks = vec![usable(root), room(root)];
    if let Some(home) = Home::look(root) {
        checks.extend(sessions(&home));
    }
    checks
}

fn usable(root: &Path) -> Check {
    match Home::check(root) {
        Ok(()) if root.exists() => Check::ok("home", root.display().to_string()),
        Ok(()) => {
            Check::ok("home", format!("{} does not exist yet; it is made with the first session", root.display()))
        }
        // What the message says ends with what to do.
        Err(error) => {
            let told = error.to_string();
            let (text, remedy) = told.split_once("; ").unwrap_or((&told, "set BOSUN_HOME to a folder of your own"));
            Check::fail("home", text, remedy)
        }
    }
}

fn room(root: &Path) -> Check {
    let there = root.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    match machine::free_bytes(there) {
        Ok(free) if free < LOW / 10 => Check::fail(
            "disk",
            format!("{} free for {}", size(free), root.display()),
            "free some space; `bosun gc --days 30` removes old sessions",
        ),
        Ok(free) if free < LOW => Check::warn(
            "disk",
            format!("{} free for {}", size(free), root.display()),
            "free some space; `bosun gc --days 30` removes old sessions",
        ),
        Ok(free) => Check::ok("disk", format!("{} free", size(free))),
        Err(error) => Check::warn("disk", format!("free space is not known: {error}"), "see that the disk is mounted"),
    }
}

/// What the sessions take, which cannot be read, and which wait for somebody to go on.
fn sessions(home: &Home) -> Vec<Check> {
    let folder = home.sessions_dir();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return vec![Check::ok("sessions", "none yet")],
        Err(error) => {
            let text = format!("cannot read {}: {error}", folder.display());
            return vec![Check::fail("sessions", text, "make it yours, or set BOSUN_HOME to another folder")];
        }
    };
    let mut ids: Vec<SessionId> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    // Ids begin with the time, so this is newest first.
    ids.sort_by_key(|id| std::cmp::Reverse(id.uuid()));
    let mut checks = vec![taken(home, &ids)];
    checks.extend(first(ids.iter().filter_map(|id| unreadable(home, *id)).collect()));
    let open = ids.iter().filter(|id| has_open_log(home, **id)).take(ASKED);
    checks.extend(first(open.filter_map(|id| left(home, *id)).collect()));
    checks.extend(leftovers(home));
    checks
}

/// Checkouts that no session of today needs, and those in the trash.
fn leftovers(home: &Home) -> Option<Check> {
    let folders = fs::read_dir(home.checkouts_dir()).into_iter().flatten().flatten();
    let is_orphan = |name: &str| name.parse().is_ok_and(|id: SessionId| !home.session_dir(id).exists());
    let orphans = folders.filter(|folder| folder.file_name().to_str().is_some_and(is_orphan)).count();
    let trashed = fs::read_dir(home.trash_dir()).into_iter().flatten().count();
    let text = match (orphans, trashed) {
        (0, 0) => return None,
        (0, trashed) => return Some(Check::ok("checkouts", format!("{trashed} in the trash"))),
        (orphans, trashed) => format!("those of {orphans} removed sessions are left, {trashed} are in the trash"),
    };
    Some(Check::warn("checkouts", text, "`bosun gc` removes what is kept elsewhere"))
}

/// The first of many checks, and how many there are besides.
fn first(mut checks: Vec<Check>) -> Vec<Check> {
    let more = checks.len().saturating_sub(TOLD);
    checks.truncate(TOLD);
    if more > 0 {
        checks.push(Check::warn("sessions", format!("the same holds for {more} more"), "`bosun sessions` lists all"));
    }
    checks
}

fn taken(home: &Home, ids: &[SessionId]) -> Check {
    let began = Instant::now();
    let mut bytes = 0;
    let mut all = true;
    for id in ids {
        all = began.elapsed() < PATIENCE;
        if !all {
            break;
        }
        bytes += files_in(&home.session_dir(*id)) + files_in(&home.output_dir(*id));
    }
    let least = if all { "" } else { "at least " };
    Check::ok("sessions", format!("{}, {least}{}", ids.len(), size(bytes)))
}

fn files_in(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.metadata().ok());
    files.filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}

fn unreadable(home: &Home, id: SessionId) -> Option<Check> {
    let path = home.session_db(id);
    let (why, remedy) = match store::look(&path) {
        Ok(Look::Current | Look::Older | Look::Empty) => return None,
        Ok(Look::Newer(form)) => {
            (format!("a newer Bosun wrote it (form {form})"), "use that version for it".to_owned())
        }
        Ok(Look::Stranger) => (
            "its file is damaged".to_owned(),
            format!("bosun sessions export {id} saves what can be read; bosun sessions rm {id} removes it"),
        ),
        Err(error) => (format!("{}: {error}", path.display()), "make the file yours again".to_owned()),
    };
    Some(Check::warn("sessions", format!("{id} cannot be read: {why}"), remedy))
}

/// Whether the session has a log that was not folded into its file: it runs, or its owner died.
fn has_open_log(home: &Home, id: SessionId) -> bool {
    let path = home.session_db(id);
    let settled = matches!(store::look(&path), Ok(Look::Current | Look::Empty));
    let log = path.with_extension("db-wal");
    settled && fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// A session that was at work when its owner died.
fn left(home: &Home, id: SessionId) -> Option<Check> {
    let reader = Reader::open(home, id).ok()?;
    let alive = reader.lease().ok()?.is_some_and(|(_, owner)| owner.is_alive());
    let state = reader.session_view().ok()?.state;
    match state {
        TaskState::Interrupted if !alive => Some(Check::warn(
            "sessions",
            format!("{id} was at work when its process ended"),
            format!("go on with: bosun --resume {id}"),
        )),
        TaskState::Running
        | TaskState::Queued
        | TaskState::Idle
        | TaskState::Parked { .. }
        | TaskState::Interrupted
        | TaskState::Finished { .. } => None,
    }
}

/// A number of bytes as people say it.
pub(super) fn size(bytes: u64) -> String {
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
            [0, 512, 4 << 20, 3 << 30, u64::MAX].map(size),
            ["0.0 KiB", "0.5 KiB", "4.0 MiB", "3.0 GiB", "16777216.0 TiB"]
        );
    }
}
