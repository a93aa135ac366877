//! `bosun checkouts`: a table of checkouts.

use std::fs;
use std::path::Path;

use git::{Checkout, TrashedCheckout};
use protocol::api::{CheckoutState, CheckoutView, CheckoutsResult};
use tui::print;

use super::git_in_home;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

/// Maximum entries that are counted for a size.
const MAX_SIZED_ENTRIES: usize = 100_000;

/// All checkouts.
pub(crate) fn view(setup: &Setup) -> CheckoutsResult {
    let checkouts = Checkout::all(&git_in_home(setup), &setup.home).iter().map(checkout_view).collect::<Vec<_>>();
    let trashed = TrashedCheckout::all(&setup.home).into_iter().map(|trashed| trash_view(setup, &trashed));
    CheckoutsResult { checkouts: checkouts.into_iter().chain(trashed).collect() }
}

pub(super) fn list(setup: &Setup, json: bool) -> Result<CommandExit, CliError> {
    let CheckoutsResult { checkouts: rows } = view(setup);
    if json {
        print::json(&rows);
        return Ok(CommandExit::Success);
    }
    if rows.is_empty() {
        print::note("no checkouts; agents with `isolation: worktree` create them");
    }
    for CheckoutView { task, state, name, commit, bytes, path, .. } in &rows {
        let commit = commit.as_deref().and_then(|commit| commit.get(..12)).unwrap_or("-");
        let (name, path) = (print::sanitize(&print::one_line(name, 24)), print::sanitize(path));
        let state = state.as_str();
        print::row(format_args!("{task}  {state:<8} {commit:<12} {:>7} kB  {name:<16} {path}", bytes / 1000));
    }
    Ok(CommandExit::Success)
}

fn checkout_view(checkout: &Checkout) -> CheckoutView {
    let (id, commit) = (checkout.id(), checkout.sealed().map(ToString::to_string));
    CheckoutView {
        task: id.task.to_string(),
        session: id.session.to_string(),
        name: checkout.name().to_owned(),
        state: match (checkout.is_in_use(), &commit) {
            (true, _) => CheckoutState::InUse,
            (false, Some(_)) => CheckoutState::Sealed,
            (false, None) => CheckoutState::Unsealed,
        },
        path: checkout.path().display().to_string(),
        pinned: commit.is_some().then(|| id.work_ref()),
        commit,
        repository: Some(checkout.repository().display().to_string()),
        bytes: folder_size(checkout.path()),
    }
}

fn trash_view(setup: &Setup, trashed: &TrashedCheckout) -> CheckoutView {
    let path = trashed.path(&setup.home);
    CheckoutView {
        task: trashed.id.task.to_string(),
        session: trashed.id.session.to_string(),
        name: trashed.why.clone(),
        state: CheckoutState::Trash,
        commit: None,
        pinned: None,
        repository: None,
        bytes: folder_size(&path),
        path: path.display().to_string(),
    }
}

/// Sums the file sizes of a folder without following links.
pub(crate) fn folder_size(folder: &Path) -> u64 {
    let (mut folders, mut bytes, mut entries) = (vec![folder.to_owned()], 0, 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() && entries < MAX_SIZED_ENTRIES => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_gone) => {}
            }
        }
    }
    bytes
}
