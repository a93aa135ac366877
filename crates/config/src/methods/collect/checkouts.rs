//! Removes checkouts of sessions that no longer exist, and old checkouts in the trash.

use std::fs;
use std::time::Duration;

use git::{Checkout, DiscardOutcome, TrashedCheckout};
use host::Home;
use protocol::api::CheckoutCleanup;
use protocol::{SessionId, Timestamp};

use super::{CollectNote, CollectNotes};
use crate::assemble::SettingsSources;

/// Removes checkouts without a session; moves those whose work is stored nowhere else to the trash.
pub(super) async fn collect(
    sources: &SettingsSources<'_>,
    now: Timestamp,
    retention: Duration,
    dry_run: bool,
    note: CollectNotes<'_>,
) -> CheckoutCleanup {
    let mut report = CheckoutCleanup::default();
    let home = sources.home;
    let old = TrashedCheckout::all(home).into_iter().filter(|trashed| now.since(trashed.trashed_at) > retention);
    for trashed in old {
        match if dry_run { Ok(host::RemovedFiles::default()) } else { trashed.remove(home) } {
            Ok(removed) => (report.emptied, report.bytes) = (report.emptied + 1, report.bytes + removed.bytes),
            Err(error) => note(CollectNote::Failed(error.to_string())),
        }
    }
    let is_orphan = |checkout: &Checkout| !home.session_dir(checkout.id().session).exists() && !checkout.is_in_use();
    for checkout in Checkout::all(&sources.git_in_home(), home).into_iter().filter(is_orphan) {
        if dry_run {
            report.removed += 1;
            continue;
        }
        match checkout.discard(home, now).await {
            Ok(DiscardOutcome::Removed(removed)) => {
                (report.removed, report.bytes) = (report.removed + 1, report.bytes + removed.bytes);
            }
            Ok(DiscardOutcome::Trashed { .. }) => report.trashed += 1,
            Err(error) => note(CollectNote::Failed(error.to_string())),
        }
    }
    if !dry_run {
        report.bytes += git::finish_removals(home).bytes;
        remove_empty_folders(home);
    }
    report
}

/// Removes folders of sessions that no longer exist and have no checkouts left.
fn remove_empty_folders(home: &Home) {
    for folder in fs::read_dir(home.checkouts_dir()).into_iter().flatten().flatten() {
        let session = folder.file_name().to_str().and_then(|name| name.parse::<SessionId>().ok());
        if session.is_some_and(|session| !home.session_dir(session).exists()) {
            // Fails if the folder is not empty, which is intended.
            let _not_empty = fs::remove_dir(folder.path());
        }
    }
}
