//! A task gets its checkout before its first turn, and gets the same one again after its owner changed.

use std::path::Path;

use git::{Checkout, CheckoutId, CheckoutLease, CheckoutRequest, Commit, Git, GitError, Repository};
use kernel::RunUpdate;
use protocol::{Isolation, TaskId};

use super::{TaskCheckout, TaskWorkspace};
use crate::agent::SessionContext;
use crate::supervisor::{InputRejection, RunLink};

/// Why a task has no place to work in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskWorkspaceError {
    #[error("it cannot work in a checkout of its own: {0}")]
    Git(#[from] GitError),
    #[error("it cannot work in a checkout of its own: {0}")]
    Other(String),
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

/// Sees to it that a run's task has a place to work in: the checkout that it, or a task above it, is to have.
pub(crate) async fn ensure_workspace(context: &SessionContext, link: &RunLink) -> Result<(), TaskWorkspaceError> {
    let Some(holder) = context.roster.checkout_owner(link.run.task) else { return Ok(()) };
    let opening = context.task_workspaces.opening.lock().await;
    if context.task_workspaces.checkout(holder).is_some() {
        return Ok(());
    }
    let placed = context.roster.with_task(holder, |known| known.checkout_path.clone()).flatten();
    let own = match placed {
        Some(path) => reopen_checkout(context, holder, &path).await?,
        None if holder == link.run.task => {
            // Only this run makes it, and many may be made at once.
            drop(opening);
            create_checkout(context, link, holder).await?
        }
        None => return Err(TaskWorkspaceError::Other(format!("{} above it has none", context.roster.path(holder)))),
    };
    context.task_workspaces.insert(holder, own);
    Ok(())
}

/// Takes over a checkout that the log tells of, if it is still there and this session's.
async fn reopen_checkout(
    context: &SessionContext,
    task: TaskId,
    path: &str,
) -> Result<TaskCheckout, TaskWorkspaceError> {
    let id = CheckoutId { session: context.session, task };
    let root = root(context)?;
    if Path::new(path) != root.join(task.to_string()) {
        return Err(TaskWorkspaceError::Other(format!("{path} is not this session's; start the task anew")));
    }
    let checkout = Checkout::open(&git(context), &root, id).await?;
    let below = Repository::find(&git(context)).await.map(|found| found.below().to_owned()).unwrap_or_default();
    lease_checkout(context, checkout, &root, &below)
}

async fn create_checkout(
    context: &SessionContext,
    link: &RunLink,
    task: TaskId,
) -> Result<TaskCheckout, TaskWorkspaceError> {
    let id = CheckoutId { session: context.session, task };
    let root = root(context)?;
    let repository = Repository::find(&git(context)).await?;
    let base = base(context, &repository, &root, id).await?;
    let words = context.roster.with_task(task, |known| (known.spec.name.clone(), known.spec.description.clone()));
    let (name, title) = words.unwrap_or_default();
    let order = CheckoutRequest { id, name, title, base };
    let checkout = match Checkout::make(&repository, &root, order.clone()).await {
        Err(GitError::Taken(_)) => {
            // An owner that died before it could say so began it. Nobody worked there, and nothing is removed anyway.
            let (home, now) = (&context.settings.home, context.settings.clock.now());
            let why = "an owner that died had begun to make it";
            Checkout::leftover(&repository, &root, order.clone()).trash(home, now, why)?;
            Checkout::make(&repository, &root, order).await?
        }
        made => made?,
    };
    for remark in checkout.remarks().await? {
        tracing::warn!(%task, remark, "a checkout is not quite like the repository");
    }
    let (path, base) = (checkout.path().display().to_string(), checkout.base().to_string());
    let own = lease_checkout(context, checkout, &root, repository.below())?;
    // Durable before anything is done there: whoever comes next finds it.
    link.supervisor.report(link.run, RunUpdate::WorkCheckedOut { path, base }).await?;
    context.task_workspaces.finish_removals(&context.settings.home);
    Ok(own)
}

/// The commit that a task's checkout begins with.
async fn base(
    context: &SessionContext,
    repository: &Repository,
    root: &Path,
    id: CheckoutId,
) -> Result<Commit, GitError> {
    let wanted = context.roster.with_task(id.task, |known| known.spec.isolation.clone()).flatten();
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
    below: &Path,
) -> Result<TaskCheckout, TaskWorkspaceError> {
    let lease = CheckoutLease::take(root, checkout.id())?;
    let site = TaskWorkspace::checkout(checkout.path(), below, &context.settings.env);
    let site = site.map_err(|error| TaskWorkspaceError::Other(format!("{}: {error}", checkout.path().display())))?;
    Ok(TaskCheckout::new(site, checkout, lease))
}

fn git(context: &SessionContext) -> Git {
    Git::new(context.guardian.clone(), context.task_workspaces.shared.cwd(), &context.settings.env)
}

fn root(context: &SessionContext) -> Result<std::path::PathBuf, TaskWorkspaceError> {
    context.settings.home.make_checkouts(context.session).map_err(|error| TaskWorkspaceError::Other(error.to_string()))
}
