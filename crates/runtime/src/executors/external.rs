//! Holds the runs of external tasks open. Their clients do the work; the kernel ends a run when its client reports the
//! end, or is gone.

use kernel::{BoundaryPoint, RunUpdate};
use tools::BoxFuture;

use super::Executor;
use crate::supervisor::RunLink;

/// Waits for clients.
#[derive(Debug)]
pub(super) struct ExternalExecutor;

impl Executor for ExternalExecutor {
    fn run(&self, link: RunLink) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // The description, as the first mail, would otherwise stay unread.
            let read = RunUpdate::Boundary(BoundaryPoint::BetweenTurns);
            if let Err(rejected) = link.supervisor.report(link.run, read).await {
                tracing::info!(run = %link.run, %rejected, "a report of the run was rejected");
            }
            std::future::pending().await
        })
    }
}
