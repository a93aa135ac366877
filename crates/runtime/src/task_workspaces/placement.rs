//! Gives a task its checkout before its first turn, and the same one again when another process owns the session.

use std::path::Path;

use git::{Checkout, CheckoutId, CheckoutLease, CheckoutRequest, Commit, Git, GitError, Repository};
use kernel::RunUpdate;
use protocol::{Isolation, TaskId};

use super::{TaskCheckout, TaskWorkspace};
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, RunLink};

/// Why a task has no workspace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskWorkspaceError {
    #[error("cannot use its checkout: {0}")]
    Git(#[from] GitError),
    #[error("cannot use its checkout: {0}")]
    Other(String),
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

/// Ensures that a run's task has its workspace: if it needs a checkout, its own or that of a task above it.
pub(crate) async fn ensure_workspace(context: &SessionContext, link: &RunLink) -> Result<(), TaskWorkspaceError> {
    let Some(owner) = context.log.roster.checkout_owner(link.run.task) else { return Ok(()) };
    let opening = context.workplace.task_workspaces.opening.lock().await;
    if context.workplace.task_workspaces.checkout(owner).is_some() {
        return Ok(());
    }
    let path = context.log.roster.with_task(owner, |entry| entry.checkout_path.clone()).flatten();
    let checkout = match path {
        Some(path) => reopen_checkout(context, owner, &path).await?,
        None if owner == link.run.task => {
            // Only this run creates this checkout, and many checkouts may be created at once.
            drop(opening);
            create_checkout(context, link, owner).await?
        }
        None => return Err(TaskWorkspaceError::Other(format!("{} has none yet", context.log.roster.path(owner)))),
    };
    context.workplace.task_workspaces.insert(owner, checkout);
    Ok(())
}

/// Reopens a checkout recorded in the log, if it still exists and belongs to this session.
async fn reopen_checkout(
    context: &SessionContext,
    task: TaskId,
    path: &str,
) -> Result<TaskCheckout, TaskWorkspaceError> {
    let id = CheckoutId { session: context.facts.session, task };
    let root = checkouts_dir(context)?;
    if Path::new(path) != root.join(task.to_string()) {
        return Err(TaskWorkspaceError::Other(format!("{path} is not this session's; start the task again")));
    }
    let checkout = Checkout::open(&git(context), &root, id).await?;
    let subfolder =
        Repository::find(&git(context)).await.map(|repository| repository.below().to_owned()).unwrap_or_default();
    lease_checkout(context, checkout, &root, &subfolder)
}

async fn create_checkout(
    context: &SessionContext,
    link: &RunLink,
    task: TaskId,
) -> Result<TaskCheckout, TaskWorkspaceError> {
    let id = CheckoutId { session: context.facts.session, task };
    let root = checkouts_dir(context)?;
    let repository = Repository::find(&git(context)).await?;
    let base = base_commit(context, &repository, &root, id).await?;
    let labels = context.log.roster.with_task(task, |entry| (entry.spec.name.clone(), entry.spec.description.clone()));
    let (name, title) = labels.unwrap_or_default();
    let request = CheckoutRequest { id, name, title, base };
    let checkout = match Checkout::create(&repository, &root, request.clone()).await {
        Err(GitError::Taken(_)) => {
            // An owner process died while creating it. It was never used, but is moved to the trash all the same.
            let (home, now) = (&context.facts.home, context.facts.clock.now());
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
    let leased = lease_checkout(context, checkout, &root, repository.below())?;
    // Recorded before any work is done there, so that the next owner process finds it.
    link.supervisor.report(link.run, RunUpdate::WorkCheckedOut { path, base }).await?;
    context.workplace.task_workspaces.finish_removals(&context.facts.home);
    Ok(leased)
}

/// The commit that a task's checkout starts from.
async fn base_commit(
    context: &SessionContext,
    repository: &Repository,
    root: &Path,
    id: CheckoutId,
) -> Result<Commit, GitError> {
    let wanted = context.log.roster.with_task(id.task, |entry| entry.spec.isolation.clone()).flatten();
    match wanted {
        Some(Isolation::Worktree { base: Some(name), .. }) => repository.commit(&name).await,
        Some(Isolation::Worktree { base: None, dirty: true }) => {
            let scratch = root.join(format!("{}.index", id.task));
            repository.snapshot_dirty(&scratch, &id.dirty_ref()).await
        }
        Some(Isolation::Worktree { base: None, dirty: false }) | None => repository.head().await,
    }
}

fn lease_checkout(
    context: &SessionContext,
    checkout: Checkout,
    root: &Path,
    subfolder: &Path,
) -> Result<TaskCheckout, TaskWorkspaceError> {
    let lease = CheckoutLease::acquire(root, checkout.id())?;
    let workspace = TaskWorkspace::checkout(checkout.path(), subfolder, &context.workplace.env);
    let workspace =
        workspace.map_err(|error| TaskWorkspaceError::Other(format!("{}: {error}", checkout.path().display())))?;
    Ok(TaskCheckout::new(workspace, checkout, lease))
}

fn git(context: &SessionContext) -> Git {
    Git::new(context.workplace.guardian.clone(), context.workplace.task_workspaces.shared.cwd(), &context.workplace.env)
}

fn checkouts_dir(context: &SessionContext) -> Result<std::path::PathBuf, TaskWorkspaceError> {
    context
        .facts
        .home
        .make_checkouts(context.facts.session)
        .map_err(|error| TaskWorkspaceError::Other(error.to_string()))
}
