//! Gives a task its checkout before its first turn, and the same one again when another process owns the session.

use std::io;
use std::path::Path;
use std::sync::Arc;

use git::{Checkout, CheckoutId, CheckoutLease, CheckoutRequest, Commit, Git, GitError, Repository};
use host::HomeError;
use kernel::RunUpdate;
use protocol::{Hinted, Isolation, TaskId};

use super::{TaskCheckout, TaskWorkspace};
use crate::run_requests::{SessionRequests, TaskProfile};
use crate::session_context::Workplace;
use crate::supervisor::InputRejection;

/// Why a task has no workspace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskWorkspaceError {
    #[error("cannot use its checkout: {0}")]
    Git(#[from] GitError),
    #[error("cannot use its checkout: {0} has none yet")]
    NotYet(Arc<str>),
    #[error("cannot use its checkout: {0} is not this session's")]
    OfOtherSession(String),
    #[error("cannot use its checkout: {folder}: {source}")]
    Folder { folder: String, source: io::Error },
    #[error("cannot use its checkout: {0}")]
    Home(#[from] HomeError),
    #[error("the checkout of {0} is missing")]
    Missing(Arc<str>),
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

impl Hinted for TaskWorkspaceError {
    fn hint(&self) -> Option<String> {
        match self {
            TaskWorkspaceError::OfOtherSession(_) => Some("start the task again".into()),
            TaskWorkspaceError::Git(_)
            | TaskWorkspaceError::NotYet(_)
            | TaskWorkspaceError::Folder { .. }
            | TaskWorkspaceError::Home(_)
            | TaskWorkspaceError::Missing(_)
            | TaskWorkspaceError::Rejected(_) => None,
        }
    }
}

/// Ensures that a run's task has its workspace: if it needs a checkout, its own or that of a task above it.
pub(crate) async fn ensure_workspace(
    workplace: &Workplace,
    profile: &TaskProfile,
    session: &dyn SessionRequests,
) -> Result<(), TaskWorkspaceError> {
    let Some(owner) = &profile.checkout else { return Ok(()) };
    let opening = workplace.task_workspaces.opening.lock().await;
    if workplace.task_workspaces.checkout(owner.task).is_some() {
        return Ok(());
    }
    let checkout = match &owner.folder {
        Some(path) => reopen_checkout(workplace, owner.task, path).await?,
        None if owner.task == profile.task => {
            // Only this run creates this checkout, and many checkouts may be created at once.
            drop(opening);
            create_checkout(workplace, profile, session).await?
        }
        None => return Err(TaskWorkspaceError::NotYet(Arc::clone(&owner.name))),
    };
    workplace.task_workspaces.insert(owner.task, checkout);
    Ok(())
}

/// Reopens a checkout recorded in the log, if it still exists and belongs to this session.
async fn reopen_checkout(workplace: &Workplace, task: TaskId, path: &str) -> Result<TaskCheckout, TaskWorkspaceError> {
    let id = CheckoutId { session: workplace.facts.session, task };
    let root = checkouts_dir(workplace)?;
    if Path::new(path) != root.join(task.to_string()) {
        return Err(TaskWorkspaceError::OfOtherSession(path.to_owned()));
    }
    let checkout = Checkout::open(&git(workplace), &root, id).await?;
    let subfolder =
        Repository::find(&git(workplace)).await.map(|repository| repository.below().to_owned()).unwrap_or_default();
    lease_checkout(workplace, checkout, &root, &subfolder)
}

async fn create_checkout(
    workplace: &Workplace,
    profile: &TaskProfile,
    session: &dyn SessionRequests,
) -> Result<TaskCheckout, TaskWorkspaceError> {
    let (task, spec) = (profile.task, &profile.spec);
    let id = CheckoutId { session: workplace.facts.session, task };
    let root = checkouts_dir(workplace)?;
    let repository = Repository::find(&git(workplace)).await?;
    let base = base_commit(spec.isolation.as_ref(), &repository, &root, id).await?;
    let request = CheckoutRequest { id, name: spec.name.clone(), title: spec.description.clone(), base };
    let checkout = match Checkout::create(&repository, &root, request.clone()).await {
        Err(GitError::Taken(_)) => {
            // An owner process died while creating it. It was never used, but is moved to the trash all the same.
            let (home, now) = (&workplace.facts.home, workplace.facts.clock.now());
            let why = "the process that was creating it died";
            Checkout::possible_leftover(&repository, &root, request.clone()).trash(home, now, why)?;
            Checkout::create(&repository, &root, request).await?
        }
        created => created?,
    };
    for remark in checkout.notes().await? {
        tracing::warn!(%task, remark, "a checkout differs from the repository");
    }
    let (path, base) = (checkout.path().display().to_string(), checkout.base().to_string());
    let leased = lease_checkout(workplace, checkout, &root, repository.below())?;
    // Recorded before any work is done there, so that the next owner process finds it.
    session.report(RunUpdate::WorkCheckedOut { path, base }).await?;
    workplace.task_workspaces.finish_removals(&workplace.facts.home);
    Ok(leased)
}

/// The commit that a task's checkout starts from.
async fn base_commit(
    wanted: Option<&Isolation>,
    repository: &Repository,
    root: &Path,
    id: CheckoutId,
) -> Result<Commit, GitError> {
    match wanted {
        Some(Isolation::Worktree { base: Some(name), .. }) => repository.commit(name).await,
        Some(Isolation::Worktree { base: None, dirty: true }) => {
            let scratch = root.join(format!("{}.index", id.task));
            repository.snapshot_dirty(&scratch, &id.dirty_ref()).await
        }
        Some(Isolation::Worktree { base: None, dirty: false }) | None => repository.head().await,
    }
}

fn lease_checkout(
    workplace: &Workplace,
    checkout: Checkout,
    root: &Path,
    subfolder: &Path,
) -> Result<TaskCheckout, TaskWorkspaceError> {
    let lease = CheckoutLease::acquire(root, checkout.id())?;
    let workspace = TaskWorkspace::checkout(checkout.path(), subfolder, &workplace.env);
    let folder = || checkout.path().display().to_string();
    let workspace = workspace.map_err(|source| TaskWorkspaceError::Folder { folder: folder(), source })?;
    Ok(TaskCheckout::new(workspace, checkout, lease))
}

fn git(workplace: &Workplace) -> Git {
    Git::new(workplace.guardian.clone(), workplace.task_workspaces.shared.cwd(), &workplace.env)
}

fn checkouts_dir(workplace: &Workplace) -> Result<std::path::PathBuf, TaskWorkspaceError> {
    Ok(workplace.facts.home.make_checkouts(workplace.facts.session)?)
}
