//! Runs agents in this process.

use std::sync::Arc;

use protocol::{FailKind, Hinted};
use tools::BoxFuture;

use super::{Executor, fail_run};
use crate::agent::{AgentLink, AgentRun, ConversationCache, RunParts};
use crate::prepared_agent::PreparedAgent;
use crate::run_requests::{LocalSession, SessionRequests, TaskProfile};
use crate::session_context::{AgentCatalog, SessionContext, Workplace};
use crate::supervisor::RunLink;
use crate::task_workspaces;

/// Runs the root and its subagents.
#[derive(Debug)]
pub(super) struct AgentExecutor {
    context: Arc<SessionContext>,
    conversations: Arc<ConversationCache>,
}

impl AgentExecutor {
    pub(super) fn new(context: Arc<SessionContext>, conversations: Arc<ConversationCache>) -> AgentExecutor {
        AgentExecutor { context, conversations }
    }
}

impl Executor for AgentExecutor {
    fn run(&self, link: RunLink) -> BoxFuture<'static, ()> {
        Box::pin(run_agent(Arc::clone(&self.context), Arc::clone(&self.conversations), link))
    }
}

/// Runs an agent, or ends it if its workspace or model is not available.
async fn run_agent(context: Arc<SessionContext>, conversations: Arc<ConversationCache>, link: RunLink) {
    let _watched = context.watched_runs.watch(&link);
    let session: Arc<dyn SessionRequests> = Arc::new(LocalSession::of_link(Arc::clone(&context), &link));
    match prepare_run(&context, &*session, conversations).await {
        Ok(parts) => AgentRun::new(parts, AgentLink::new(link, session)).run().await,
        Err((kind, message)) => fail_run(&link, kind, message).await,
    }
}

async fn prepare_run(
    context: &SessionContext,
    session: &dyn SessionRequests,
    conversations: Arc<ConversationCache>,
) -> Result<RunParts, (FailKind, String)> {
    let (workplace, catalog) = (Arc::clone(&context.workplace), Arc::clone(&context.catalog));
    let profile = session.profile().await.map_err(|refusal| (FailKind::Model, refusal.in_one_line()))?;
    let placed = task_workspaces::ensure_workspace(&workplace, &profile, session).await;
    placed.map_err(|error| (FailKind::Internal, error.in_one_line()))?;
    let agent = prepare_agent(&workplace, &catalog, &profile).await?;
    Ok(RunParts { workplace, catalog, conversations, profile, agent })
}

async fn prepare_agent(
    workplace: &Workplace,
    catalog: &AgentCatalog,
    profile: &TaskProfile,
) -> Result<Arc<PreparedAgent>, (FailKind, String)> {
    let workspace = workplace.task_workspaces.workspace(profile.checkout.as_ref());
    let workspace = workspace.map_err(|error| (FailKind::Model, error.in_one_line()))?;
    let transformed = catalog.transform_system_text(&workplace.facts, profile, &workspace).await;
    transformed.map_err(|why| (FailKind::Denied, format!("the system prompt is not complete: {why}")))?;
    let agent = catalog.prepared_agent(&workplace.facts, profile, workspace);
    agent.map_err(|error| (FailKind::Model, error.in_one_line()))
}
