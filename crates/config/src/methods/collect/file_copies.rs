//! Removes copies of files that sessions keep for going back, once they are too old.

use client::{CollectRun, FileHistory};
use host::Home;
use protocol::api::FileCopyCleanup;
use protocol::{SessionId, Timestamp};

use super::{CollectNote, CollectNotes};

/// Removes the copies that no change after `cutoff` needs.
pub(super) fn collect(
    home: &Home,
    sessions: impl Iterator<Item = SessionId>,
    (cutoff, dry_run): (Timestamp, bool),
    note: CollectNotes<'_>,
) -> FileCopyCleanup {
    let run = if dry_run { CollectRun::Dry } else { CollectRun::Remove };
    let mut copies = FileCopyCleanup::default();
    for session in sessions {
        match FileHistory::of(home, session).collect(cutoff, run) {
            Ok((removed, bytes)) => {
                (copies.removed, copies.bytes) = (copies.removed + removed, copies.bytes + bytes);
            }
            Err(error) => note(CollectNote::Failed(format!("{}: {error}", home.file_history_dir(session).display()))),
        }
    }
    copies
}
