//! What fleets and isolated agents left in the repositories of users: refs to work that has landed, and folders of landings
//! that were killed. Work that is on no branch stays unless the user asks for its removal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use git::{Git, GitError, Pin, Pins, Repository};
use protocol::SessionId;
use serde::Serialize;
use store::SessionReader;

use crate::deliver::live_owner;
use crate::setup::Setup;
use crate::{fleet, print};

/// What became of them.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RefCleanup {
    /// How many refs were removed.
    pub(super) removed: usize,
    /// How many refs of removed sessions stay, since their work is on no branch.
    pub(super) unlanded: usize,
    /// How many folders of killed landings were removed.
    pub(super) landings: usize,
}

/// Which refs are to go.
#[derive(Debug)]
pub(super) struct RefCleanupOptions {
    /// The sessions that are removed, or would be.
    pub(super) removed: BTreeSet<SessionId>,
    /// Whether work of removed sessions goes that is on no branch.
    pub(super) unlanded: bool,
    pub(super) dry_run: bool,
}

/// Cleans the repositories that these folders are in.
pub(super) async fn collect(setup: &Setup, folders: BTreeSet<PathBuf>, wanted: &RefCleanupOptions) -> RefCleanup {
    let mut report = RefCleanup::default();
    let git = crate::checkouts::git_in_home(setup);
    let mut repositories = BTreeMap::new();
    for folder in folders.into_iter().filter(|folder| is_in_repository(folder)) {
        if let Ok(repository) = Repository::find(&git.at(folder)).await {
            repositories.entry(repository.top().to_owned()).or_insert(repository);
        }
    }
    for repository in repositories.into_values() {
        if let Err(error) = clean(setup, &repository, wanted, &mut report).await {
            print::error(&error.to_string());
        }
    }
    report
}

async fn clean(
    setup: &Setup,
    repository: &Repository,
    wanted: &RefCleanupOptions,
    report: &mut RefCleanup,
) -> Result<(), GitError> {
    if !wanted.dry_run {
        report.landings += git::clear_landings(repository).await?;
    }
    let Pins { landed, only } = Pins::read(repository.git()).await?;
    let is_gone = |id: &SessionId| wanted.removed.contains(id) || !setup.home.session_dir(*id).exists();
    for (session, pins) in landed {
        if is_gone(&session) || is_at_rest_and_done(setup, session) {
            remove(repository.git(), &pins, wanted, report).await?;
        }
    }
    for pins in only.into_iter().filter(|(session, _)| is_gone(session)).map(|(_, pins)| pins) {
        if wanted.unlanded {
            remove(repository.git(), &pins, wanted, report).await?;
        } else {
            report.unlanded += pins.len();
        }
    }
    Ok(())
}

async fn remove(git: &Git, pins: &[Pin], wanted: &RefCleanupOptions, report: &mut RefCleanup) -> Result<(), GitError> {
    if !wanted.dry_run {
        Pins::remove(git, pins).await?;
    }
    report.removed += pins.len();
    Ok(())
}

/// Whether nobody will need the refs of a session that is there: its fleet is done, and nobody runs it.
fn is_at_rest_and_done(setup: &Setup, id: SessionId) -> bool {
    let look = |reader: SessionReader| Ok(live_owner(&reader)?.is_none() && fleet::is_done(&reader)?);
    SessionReader::open(&setup.home, id).and_then(look).unwrap_or(false)
}

/// Whether git may know the folder; no process is started for one that it cannot.
fn is_in_repository(folder: &Path) -> bool {
    folder.ancestors().any(|above| above.join(".git").exists())
}
