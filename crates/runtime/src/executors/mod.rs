//! Executors: each performs the activations of one task type at one place. The supervisor asks [`Executors`] for every
//! run, so a new task type or a new place is one registration.

mod agent;
mod agent_process;
mod external;
mod mcp;
mod monitor;
mod question;
mod shell;

use std::fmt;
use std::sync::Arc;

use kernel::{BoundaryPoint, RunEnding, RunUpdate};
use protocol::{FailKind, PlaceName, TaskId, TaskType};
use tools::BoxFuture;

use self::agent::AgentExecutor;
use self::agent_process::AgentProcessExecutor;
use self::external::ExternalExecutor;
use self::mcp::McpExecutor;
use self::monitor::MonitorExecutor;
use self::question::QuestionExecutor;
use self::shell::ShellExecutor;
use crate::session_context::SessionContext;
use crate::supervisor::RunLink;

/// Performs activations of tasks.
pub(crate) trait Executor: fmt::Debug + Send + Sync {
    /// Performs the activation that the link belongs to. Dropping the future ends the work.
    fn run(&self, link: RunLink) -> BoxFuture<'static, ()>;

    /// What remains to be done for a task that was cancelled, whether or not it was running.
    fn cancelled(&self, _task: TaskId) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

/// The executors of a session, by task type and place.
#[derive(Debug, Default)]
pub(crate) struct Executors(Vec<(TaskType, Option<PlaceName>, Arc<dyn Executor>)>);

impl Executors {
    /// The executors of this process, one for every task type, and the one for agents in processes of their own.
    pub(crate) fn local(context: &Arc<SessionContext>) -> Executors {
        let (mut executors, conversations) = (Executors::default(), Arc::default());
        for kind in TaskType::ALL {
            let context = Arc::clone(context);
            let executor: Arc<dyn Executor> = match kind {
                TaskType::Main | TaskType::Agent => Arc::new(AgentExecutor::new(context, Arc::clone(&conversations))),
                TaskType::Shell | TaskType::UserShell => Arc::new(ShellExecutor(context)),
                TaskType::Monitor => Arc::new(MonitorExecutor(context)),
                TaskType::External => Arc::new(ExternalExecutor),
                TaskType::Question => Arc::new(QuestionExecutor(context)),
                TaskType::McpTask | TaskType::McpCall => Arc::new(McpExecutor(context)),
            };
            executors.register(kind, None, executor);
        }
        let own_process = Arc::new(AgentProcessExecutor::new(Arc::clone(context)));
        executors.register(TaskType::Agent, Some(PlaceName::own_process()), own_process);
        executors
    }

    /// Has the executor perform the tasks of this type at this place; without a place, in this process.
    pub(crate) fn register(&mut self, kind: TaskType, place: Option<PlaceName>, executor: Arc<dyn Executor>) {
        self.0.push((kind, place, executor));
    }

    /// What remains to be done for a task that was cancelled.
    pub(crate) fn cancelled(&self, kind: TaskType, task: TaskId) -> Option<BoxFuture<'static, ()>> {
        let (_, _, executor) = self.0.iter().find(|(known, at, _)| *known == kind && at.is_none())?;
        executor.cancelled(task)
    }

    /// Performs an activation to its end, or until the run is stopped.
    pub(crate) fn run(&self, kind: TaskType, place: Option<&PlaceName>, link: RunLink) -> BoxFuture<'static, ()> {
        let registered = self.0.iter().find(|(known, at, _)| *known == kind && at.as_ref() == place);
        let Some((_, _, executor)) = registered else {
            let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
            let message = format!("there is no executor for tasks of type {}{place}", kind.name());
            return Box::pin(async move { fail_run(&link, FailKind::Internal, message).await });
        };
        let stop = link.stop.clone();
        let run = executor.run(link);
        Box::pin(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = run => {}
            }
        })
    }
}

/// Ends a run that cannot begin its work.
async fn fail_run(link: &RunLink, kind: FailKind, message: String) {
    let ending = RunEnding::Failed { kind, message };
    // The boundary report delivers mail: left unread, it would wake the task again, which would fail again.
    for report in [RunUpdate::Boundary(BoundaryPoint::BetweenTurns), RunUpdate::Ended { ending, text: String::new() }] {
        if let Err(rejected) = link.supervisor.report(link.run, report).await {
            tracing::info!(run = %link.run, %rejected, "a report of the run was rejected");
        }
    }
}
