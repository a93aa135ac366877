//! Runs agents in processes of their own, one for each activation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::KernelInput;
use protocol::{Activation, FailKind, Hinted as _, RunId, TaskId};
use tools::BoxFuture;

use super::{Executor, fail_run};
use crate::remote_run::{RunLoss, RunProcess, ServedRun};
use crate::run_requests::{LocalSession, SessionRequests};
use crate::session_context::SessionContext;
use crate::supervisor::RunLink;
use crate::task_workspaces;

/// How often the process of one activation may die before the activation fails.
const MAX_LOSSES: u32 = 3;

/// Runs subagents in other processes.
#[derive(Debug)]
pub(super) struct AgentProcessExecutor {
    context: Arc<SessionContext>,
    losses: Arc<LostProcesses>,
}

impl AgentProcessExecutor {
    pub(super) fn new(context: Arc<SessionContext>) -> AgentProcessExecutor {
        AgentProcessExecutor { context, losses: Arc::default() }
    }
}

impl Executor for AgentProcessExecutor {
    fn run(&self, link: RunLink) -> BoxFuture<'static, ()> {
        Box::pin(run_agent(Arc::clone(&self.context), Arc::clone(&self.losses), link))
    }
}

/// Runs an agent. If its process dies, its task is interrupted, and the next attempt continues where it was.
async fn run_agent(context: Arc<SessionContext>, losses: Arc<LostProcesses>, mut link: RunLink) {
    let _watched = context.watched_runs.watch(&link);
    let (process, run) = match start(&context, &link).await {
        Ok(started) => started,
        Err((kind, message)) => return fail_run(&link, kind, message).await,
    };
    match process.serve(run, &mut link).await {
        Ok(()) => losses.forget(link.run.task),
        Err(loss @ RunLoss::Disconnected) if losses.add(link.run) < MAX_LOSSES => {
            tracing::warn!(run = %link.run, %loss, "an agent is interrupted");
            interrupt(&context, &link).await;
        }
        Err(loss) => fail_run(&link, FailKind::Internal, loss.to_string()).await,
    }
}

/// Starts the process of a run, once the run has its workspace.
async fn start(context: &Arc<SessionContext>, link: &RunLink) -> Result<(RunProcess, ServedRun), (FailKind, String)> {
    let session: Arc<dyn SessionRequests> = Arc::new(LocalSession::of_link(Arc::clone(context), link));
    let profile = session.profile().await.map_err(|refusal| (FailKind::Model, refusal.in_one_line()))?;
    let placed = task_workspaces::ensure_workspace(&context.workplace, &profile, &*session).await;
    placed.map_err(|error| (FailKind::Internal, error.to_string()))?;
    let workspace = context.workplace.task_workspaces.workspace(profile.checkout.as_ref());
    let workspace = workspace.map_err(|error| (FailKind::Internal, error.in_one_line()))?;
    let run = ServedRun::new(context, link, session, &profile, &workspace);
    let run = run.map_err(|error| (FailKind::Model, error.to_string()))?;
    let process = RunProcess::start(&context.workplace.guardian, workspace.cwd()).await;
    let process = process.map_err(|error| (FailKind::Internal, error.to_string()))?;
    Ok((process, run))
}

/// Has the supervisor interrupt the run, whose lease is over, and start the next attempt.
async fn interrupt(context: &SessionContext, link: &RunLink) {
    let until = context.facts.clock.now();
    if let Err(rejected) = link.supervisor.submit(KernelInput::Lease { run: link.run, until }).await {
        tracing::info!(run = %link.run, %rejected, "the run was over already");
        return;
    }
    link.stop.cancelled().await;
}

/// How often the process of each task's current activation has died.
#[derive(Debug, Default)]
struct LostProcesses(Mutex<HashMap<TaskId, (Activation, u32)>>);

impl LostProcesses {
    /// Adds one; returns how many there are.
    fn add(&self, run: RunId) -> u32 {
        let mut lost = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (activation, count) = lost.entry(run.task).or_insert((run.activation, 0));
        if *activation != run.activation {
            (*activation, *count) = (run.activation, 0);
        }
        *count += 1;
        *count
    }

    fn forget(&self, task: TaskId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
    }
}
