//! Removes refs to landed work and folders of interrupted landings from the users' repositories. Work that is not on
//! any branch stays unless the user asks for its removal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use client::{LatestFleet, SessionHandle};
use git::{Git, GitError, Pin, Pins, Repository};
use protocol::api::RefCleanup;
use protocol::{FleetEnd, SessionId};

use super::{CollectNote, CollectNotes};
use crate::assemble::SettingsSources;

/// Which refs to remove.
#[derive(Debug)]
pub(super) struct RefCleanupOptions {
    /// The sessions that are removed, or would be in a dry run.
    pub(super) removed: BTreeSet<SessionId>,
    /// Whether to remove work of removed sessions that is not on any branch.
    pub(super) unlanded: bool,
    pub(super) dry_run: bool,
}

/// Cleans the repositories that contain these folders.
pub(super) async fn collect(
    sources: &SettingsSources<'_>,
    folders: BTreeSet<PathBuf>,
    options: &RefCleanupOptions,
    note: CollectNotes<'_>,
) -> RefCleanup {
    let mut report = RefCleanup::default();
    let git = sources.git_in_home();
    let mut repositories = BTreeMap::new();
    for folder in folders.into_iter().filter(|folder| is_in_repository(folder)) {
        if let Ok(repository) = Repository::find(&git.in_folder(folder)).await {
            repositories.entry(repository.top().to_owned()).or_insert(repository);
        }
    }
    for repository in repositories.into_values() {
        if let Err(error) = clean_repository(sources, &repository, options, &mut report).await {
            note(CollectNote::Failed(error.to_string()));
        }
    }
    report
}

async fn clean_repository(
    sources: &SettingsSources<'_>,
    repository: &Repository,
    options: &RefCleanupOptions,
    report: &mut RefCleanup,
) -> Result<(), GitError> {
    if !options.dry_run {
        report.landings += git::clear_landings(repository).await? as u64;
    }
    let Pins { landed, not_landed: only } = Pins::read(repository.git()).await?;
    let is_gone = |id: &SessionId| options.removed.contains(id) || !sources.home.session_dir(*id).exists();
    for (session, pins) in landed {
        if is_gone(&session) || is_finished(sources, session) {
            remove_pins(repository.git(), &pins, options, report).await?;
        }
    }
    for pins in only.into_iter().filter(|(session, _)| is_gone(session)).map(|(_, pins)| pins) {
        if options.unlanded {
            remove_pins(repository.git(), &pins, options, report).await?;
        } else {
            report.unlanded += pins.len() as u64;
        }
    }
    Ok(())
}

async fn remove_pins(
    git: &Git,
    pins: &[Pin],
    options: &RefCleanupOptions,
    report: &mut RefCleanup,
) -> Result<(), GitError> {
    if !options.dry_run {
        Pins::remove(git, pins).await?;
    }
    report.removed += pins.len() as u64;
    Ok(())
}

/// Whether an existing session no longer needs its refs: its fleet is done, and no process runs it.
fn is_finished(sources: &SettingsSources<'_>, id: SessionId) -> bool {
    let session = SessionHandle::new(sources.home, id);
    session.owner_pid().is_ok_and(|owner| owner.is_none())
        && session.latest_fleet().is_ok_and(|fleet| fleet == Some(LatestFleet::Ended(FleetEnd::Done)))
}

/// Whether the folder may be in a git repository, without starting a git process.
fn is_in_repository(folder: &Path) -> bool {
    folder.ancestors().any(|folder| folder.join(".git").exists())
}
