//! The checkouts that agents work in, and those in the trash.

use std::fs;
use std::path::Path;

use git::{Checkout, DiscardOutcome, Git, TrashedCheckout};
use host::{Clock, Guardian, SystemClock};
use protocol::Refusal;
use protocol::api::{CheckoutState, CheckoutView, CheckoutsResult, MovedCheckout};

use super::error::SettingsMethodError;
use crate::assemble::SettingsSources;

/// Maximum entries that are counted for a size.
const MAX_SIZED_ENTRIES: usize = 100_000;

impl SettingsSources<'_> {
    /// All checkouts.
    pub fn checkouts(&self) -> CheckoutsResult {
        let checkouts = Checkout::all(&self.git_in_home(), self.home).iter().map(checkout_view).collect::<Vec<_>>();
        let trashed = TrashedCheckout::all(self.home).into_iter().map(|trashed| self.trash_view(&trashed));
        CheckoutsResult { checkouts: checkouts.into_iter().chain(trashed).collect() }
    }

    /// Moves a checkout that no agent works in to the trash.
    pub fn discard_checkout(&self, prefix: &str) -> Result<MovedCheckout, SettingsMethodError> {
        self.move_to_trash(find_checkout(prefix, &Checkout::all(&self.git_in_home(), self.home))?)
    }

    /// Moves several checkouts to the trash, and reports each. All of them are found before the first is moved.
    pub fn discard_checkouts(
        &self,
        prefixes: &[String],
        report: impl Fn(MovedCheckout),
    ) -> Result<(), SettingsMethodError> {
        let all = Checkout::all(&self.git_in_home(), self.home);
        let found = prefixes.iter().map(|prefix| find_checkout(prefix, &all)).collect::<Result<Vec<_>, _>>()?;
        found.into_iter().try_for_each(|checkout| {
            report(self.move_to_trash(checkout)?);
            Ok(())
        })
    }

    fn move_to_trash(&self, checkout: &Checkout) -> Result<MovedCheckout, SettingsMethodError> {
        let task = checkout.id().task.to_string();
        Ok(match checkout.clone().trash(self.home, SystemClock.now(), "removed by the user")? {
            DiscardOutcome::Trashed { name, .. } => MovedCheckout { task, location: Some(name) },
            DiscardOutcome::Removed(_) => MovedCheckout { task, location: None },
        })
    }

    /// Restores a checkout from the trash.
    pub fn restore_checkout(&self, prefix: &str) -> Result<MovedCheckout, SettingsMethodError> {
        let all = TrashedCheckout::all(self.home);
        let trashed = find_by_prefix(prefix, &all, |trashed| trashed.id.task.to_string())?;
        let path = trashed.restore(self.home)?;
        Ok(MovedCheckout { task: trashed.id.task.to_string(), location: Some(path.display().to_string()) })
    }

    /// Git for Bosun's home and for the repositories that checkouts were made from.
    pub(super) fn git_in_home(&self) -> Git {
        let guardian = Guardian::new("/proc/self/exe".into());
        let env = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name.into(), self.env.text(name)?.into())));
        Git::new(guardian, self.home.root(), &env.collect::<Vec<_>>())
    }

    fn trash_view(&self, trashed: &TrashedCheckout) -> CheckoutView {
        let path = trashed.path(self.home);
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

/// Sums the file sizes of a folder without following links.
fn folder_size(folder: &Path) -> u64 {
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

fn find_checkout<'a>(prefix: &str, all: &'a [Checkout]) -> Result<&'a Checkout, Refusal> {
    find_by_prefix(prefix, all, |checkout| checkout.id().task.to_string())
}

/// Finds the item with this id or id prefix.
fn find_by_prefix<'a, T>(given: &str, all: &'a [T], id: impl Fn(&T) -> String) -> Result<&'a T, Refusal> {
    let matches = |item: &&T| {
        id(item) == given || id(item).trim_start_matches("task-").starts_with(given.trim_start_matches("task-"))
    };
    let hint = "`bosun checkouts` lists them";
    let matching: Vec<&T> = all.iter().filter(matches).collect();
    match matching[..] {
        [item] if !given.is_empty() => Ok(item),
        [] | [_] => Err(Refusal::new(format!("there is no checkout `{given}`")).with_hint(hint)),
        _ => Err(Refusal::new(format!("{} ids begin with `{given}`", matching.len())).with_hint(hint)),
    }
}
