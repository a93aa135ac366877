//! Checkouts of sessions that are gone, and those that were in the trash for long enough.

use std::fs;
use std::time::Duration;

use git::{Checkout, DiscardOutcome, TrashedCheckout};
use host::Home;
use protocol::{SessionId, Timestamp};
use serde::Serialize;

use crate::print;
use crate::setup::Setup;

/// What became of them.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckoutCleanup {
    /// How many were removed, their work being kept in the user's repository.
    pub(super) removed: usize,
    /// How many were moved to the trash.
    pub(super) trashed: usize,
    /// How many were removed from the trash.
    pub(super) emptied: usize,
    pub(super) bytes: u64,
}

/// Removes what nobody needs; moves to the trash what is not kept anywhere else.
pub(super) async fn collect(setup: &Setup, now: Timestamp, keep: Duration, dry_run: bool) -> CheckoutCleanup {
    let mut report = CheckoutCleanup::default();
    let home = &setup.home;
    let old = TrashedCheckout::all(home).into_iter().filter(|trashed| now.since(trashed.at) > keep);
    for trashed in old {
        match if dry_run { Ok(host::RemovedFiles::default()) } else { trashed.remove(home) } {
            Ok(removed) => (report.emptied, report.bytes) = (report.emptied + 1, report.bytes + removed.bytes),
            Err(error) => print::error(&error.to_string()),
        }
    }
    let is_orphan = |checkout: &Checkout| !home.session_dir(checkout.id().session).exists() && !checkout.is_in_use();
    for checkout in Checkout::all(&crate::checkouts::git_in_home(setup), home).into_iter().filter(is_orphan) {
        if dry_run {
            report.removed += 1;
            continue;
        }
        match checkout.discard(home, now).await {
            Ok(DiscardOutcome::Removed(removed)) => {
                (report.removed, report.bytes) = (report.removed + 1, report.bytes + removed.bytes);
            }
            Ok(DiscardOutcome::Trashed { .. }) => report.trashed += 1,
            Err(error) => print::error(&error.to_string()),
        }
    }
    if !dry_run {
        report.bytes += git::finish_removals(home).bytes;
        forget_empty(home);
    }
    report
}

/// Removes the folders of sessions that are gone and have no checkout left.
fn forget_empty(home: &Home) {
    for folder in fs::read_dir(home.checkouts_dir()).into_iter().flatten().flatten() {
        let session = folder.file_name().to_str().and_then(|name| name.parse::<SessionId>().ok());
        if session.is_some_and(|session| !home.session_dir(session).exists()) {
            // One that is not empty stays.
            let _stays = fs::remove_dir(folder.path());
        }
    }
}
