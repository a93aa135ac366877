//! Runs agents in this process.

use std::sync::Arc;

use protocol::FailKind;
use tools::BoxFuture;

use super::{Executor, fail_run};
use crate::agent::AgentRun;
use crate::session_context::SessionContext;
use crate::supervisor::RunLink;
use crate::task_workspaces;

/// Runs the root and its subagents.
#[derive(Debug)]
pub(super) struct AgentExecutor(pub(super) Arc<SessionContext>);

impl Executor for AgentExecutor {
    fn run(&self, link: RunLink) -> BoxFuture<'static, ()> {
        Box::pin(run_agent(Arc::clone(&self.0), link))
    }
}

/// Runs an agent, or ends it if its workspace or model is not available.
async fn run_agent(context: Arc<SessionContext>, link: RunLink) {
    let _watched = context.watched_runs.watch(&link);
    let prepared = match task_workspaces::ensure_workspace(&context, &link).await {
        Ok(()) => context.prepared_agent(link.run.task).map_err(|message| (FailKind::Model, message)),
        Err(error) => Err((FailKind::Internal, error.to_string())),
    };
    match prepared {
        Ok(prepared) => AgentRun::new(context, link, prepared).run().await,
        Err((kind, message)) => fail_run(&link, kind, message).await,
    }
}
