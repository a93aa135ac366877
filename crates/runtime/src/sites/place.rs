//! A task gets its checkout before its first turn, and gets the same one again after its owner changed.

use std::path::Path;

use git::{Checkout, CheckoutId, CheckoutLease, CheckoutRequest, Commit, Git, GitError, Repository};
use kernel::Report;
use protocol::{Isolation, TaskId};

use super::{Own, Site};
use crate::agent::Desk;
use crate::supervisor::{Link, Rejected};

/// Why a task has no place to work in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unplaced {
    #[error("it cannot work in a checkout of its own: {0}")]
    Git(#[from] GitError),
    #[error("it cannot work in a checkout of its own: {0}")]
    Other(String),
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

/// Sees to it that a run's task has a place to work in: the checkout that it, or a task above it, is to have.
pub(crate) async fn place(desk: &Desk, link: &Link) -> Result<(), Unplaced> {
    let Some(holder) = desk.roster.isolated(link.run.task) else { return Ok(()) };
    let opening = desk.sites.opening.lock().await;
    if desk.sites.own(holder).is_some() {
        return Ok(());
    }
    let placed = desk.roster.known(holder, |known| known.placed.clone()).flatten();
    let own = match placed {
        Some(path) => reopen(desk, holder, &path).await?,
        None if holder == link.run.task => {
            // Only this run makes it, and many may be made at once.
            drop(opening);
            make(desk, link, holder).await?
        }
        None => return Err(Unplaced::Other(format!("{} above it has none", desk.roster.path(holder)))),
    };
    desk.sites.put(holder, own);
    Ok(())
}

/// Takes over a checkout that the log tells of, if it is still there and this session's.
async fn reopen(desk: &Desk, task: TaskId, path: &str) -> Result<Own, Unplaced> {
    let id = CheckoutId { session: desk.session, task };
    let root = root(desk)?;
    if Path::new(path) != root.join(task.to_string()) {
        return Err(Unplaced::Other(format!("{path} is not this session's; start the task anew")));
    }
    let checkout = Checkout::open(&git(desk), &root, id).await?;
    let below = Repository::find(&git(desk)).await.map(|found| found.below().to_owned()).unwrap_or_default();
    own(desk, checkout, &root, &below)
}

async fn make(desk: &Desk, link: &Link, task: TaskId) -> Result<Own, Unplaced> {
    let id = CheckoutId { session: desk.session, task };
    let root = root(desk)?;
    let repository = Repository::find(&git(desk)).await?;
    let base = base(desk, &repository, &root, id).await?;
    let words = desk.roster.known(task, |known| (known.spec.name.clone(), known.spec.description.clone()));
    let (name, title) = words.unwrap_or_default();
    let order = CheckoutRequest { id, name, title, base };
    let checkout = match Checkout::make(&repository, &root, order.clone()).await {
        Err(GitError::Taken(_)) => {
            // An owner that died before it could say so began it. Nobody worked there, and nothing is removed anyway.
            let (home, now) = (&desk.settings.home, desk.settings.clock.now());
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
    let own = own(desk, checkout, &root, repository.below())?;
    // Durable before anything is done there: whoever comes next finds it.
    link.supervisor.report(link.run, Report::Placed { path, base }).await?;
    desk.sites.finish_removals(&desk.settings.home);
    Ok(own)
}

/// The commit that a task's checkout begins with.
async fn base(desk: &Desk, repository: &Repository, root: &Path, id: CheckoutId) -> Result<Commit, GitError> {
    let wanted = desk.roster.known(id.task, |known| known.spec.isolation.clone()).flatten();
    match wanted {
        Some(Isolation::Worktree { base: Some(name), .. }) => repository.commit(&name).await,
        Some(Isolation::Worktree { base: None, dirty: true }) => {
            let scratch = root.join(format!("{}.index", id.task));
            repository.snapshot_dirty(&scratch, &id.dirty_ref()).await
        }
        Some(Isolation::Worktree { base: None, dirty: false }) | None => repository.head().await,
    }
}

fn own(desk: &Desk, checkout: Checkout, root: &Path, below: &Path) -> Result<Own, Unplaced> {
    let lease = CheckoutLease::take(root, checkout.id())?;
    let site = Site::checkout(checkout.path(), below, &desk.settings.env);
    let site = site.map_err(|error| Unplaced::Other(format!("{}: {error}", checkout.path().display())))?;
    Ok(Own::new(site, checkout, lease))
}

fn git(desk: &Desk) -> Git {
    Git::new(desk.guardian.clone(), desk.sites.shared.cwd(), &desk.settings.env)
}

fn root(desk: &Desk) -> Result<std::path::PathBuf, Unplaced> {
    desk.settings.home.make_checkouts(desk.session).map_err(|error| Unplaced::Other(error.to_string()))
}
