//! Runs stop hooks, once, for activations whose start hooks ran and that ended without stop hooks: stopped, failed, or
//! ended by an earlier owner.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use hooks::HookEventData;
use kernel::{Kernel, KernelInput, KernelTask, QueuePurpose, TaskPhase};
use protocol::{Activation, Attempt, Event, RunId, TaskId};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::run_hooks;
use crate::bus::{BusMessage, Subscription};
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// How many stop hooks run at once.
const MAX_CONCURRENT_HOOKS: usize = 8;

/// How long the end of a session waits for stop hooks.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(10);

/// What to do with activations that are open when the session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenActivationPolicy {
    /// Run their stop hooks.
    Run,
    /// Skip their stop hooks: the original session runs them.
    Skip,
}

/// Runs stop hooks for activations that ended without them.
#[derive(Debug)]
pub(crate) struct StopHookRuns {
    closing: CancellationToken,
    watcher: AbortOnDropHandle<()>,
}

impl StopHookRuns {
    /// Starts watching the session, if stop hooks may have to run.
    pub(crate) async fn begin(
        context: &Arc<SessionContext>,
        supervisor: &Supervisor,
        seq: u64,
        policy: OpenActivationPolicy,
    ) -> Result<Option<StopHookRuns>, InputRejection> {
        let open = supervisor.query(open_activations).await?;
        let catalog = &context.catalog.definitions;
        let has_agent_hooks =
            catalog.agents.iter().chain(&context.catalog.main_agent).any(|agent| !agent.hooks.is_empty());
        if open.is_empty() && !has_agent_hooks && !context.session_hooks.has_activation_hooks() {
            return Ok(None);
        }
        if policy == OpenActivationPolicy::Skip {
            for run in supervisor.query(ended_activations).await? {
                supervisor.submit(mark_stop_hooks_ran(run)).await?;
            }
        }
        let closing = CancellationToken::new();
        let watch = StopHookWatcher {
            context: Arc::clone(context),
            supervisor: supervisor.clone(),
            started: HashSet::new(),
            runs: JoinSet::new(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_HOOKS)),
        };
        let events = context.log.bus.subscribe(seq);
        #[expect(clippy::disallowed_methods, reason = "its handle, which ends it, is a field of its owner")]
        let watcher = AbortOnDropHandle::new(tokio::spawn(watch.watch_ends(events, closing.clone())));
        Ok(Some(StopHookRuns { closing, watcher }))
    }

    /// Runs the remaining stop hooks, within a time limit; the next owner runs the rest.
    pub(crate) async fn finish(self) {
        self.closing.cancel();
        if tokio::time::timeout(SHUTDOWN_WAIT, self.watcher).await.is_err() {
            tracing::warn!("stop hooks took too long; the next owner of the session runs them again");
        }
    }
}

struct StopHookWatcher {
    context: Arc<SessionContext>,
    supervisor: Supervisor,
    /// The runs whose stop hooks were started.
    started: HashSet<RunId>,
    runs: JoinSet<RunId>,
    permits: Arc<Semaphore>,
}

impl StopHookWatcher {
    async fn watch_ends(mut self, mut events: Subscription, closing: CancellationToken) {
        while self.start_due_runs().await.is_ok() {
            tokio::select! {
                biased;
                () = closing.cancelled() => break,
                Some(finished) = self.runs.join_next() => drop(finished),
                is_open = next_end(&mut events) => {
                    if !is_open {
                        return;
                    }
                }
            }
        }
        // Include all activations that have ended by now.
        let _gone = self.start_due_runs().await;
        while self.runs.join_next().await.is_some() {}
    }

    /// Starts the stop hooks of all activations that have ended.
    async fn start_due_runs(&mut self) -> Result<(), InputRejection> {
        for run in self.supervisor.query(ended_activations).await? {
            if self.started.insert(run) {
                let (context, supervisor, permits) =
                    (Arc::clone(&self.context), self.supervisor.clone(), Arc::clone(&self.permits));
                self.runs.spawn(async move {
                    // The semaphore is never closed.
                    let _permit = permits.acquire().await;
                    run_stop_hooks(&context, run).await;
                    if let Err(rejected) = supervisor.submit(mark_stop_hooks_ran(run)).await {
                        tracing::info!(%rejected, %run, "the run of stop hooks was not recorded");
                    }
                    run
                });
            }
        }
        Ok(())
    }
}

/// Waits until another activation ends; returns false if no more events can arrive.
async fn next_end(events: &mut Subscription) -> bool {
    loop {
        match events.next().await {
            Ok(Some(BusMessage::Event(envelope))) => {
                if let Event::ActivationEnded { .. } = envelope.entry.event {
                    return true;
                }
            }
            Ok(Some(BusMessage::Text { .. })) => {}
            Ok(None) => return false,
            Err(error) => {
                tracing::warn!(%error, "the events of the session can no longer be read");
                return false;
            }
        }
    }
}

async fn run_stop_hooks(context: &Arc<SessionContext>, run: RunId) {
    let outcome =
        |entry: &crate::roster::RosterEntry| entry.endings.get(&run.activation).map(|ending| ending.outcome.as_str());
    let reason = context.log.roster.with_task(run.task, outcome).flatten();
    let last_message =
        reason.map(|_| context.log.task_trace(run.task).result_of(run.activation).0.to_owned()).unwrap_or_default();
    let reason = reason.unwrap_or("ended");
    // The activation is over, so hooks cannot keep it from ending.
    let _verdict =
        run_hooks(context, run, HookEventData::AgentStop { reason: reason.into(), last_message, is_repeated: false })
            .await;
}

fn mark_stop_hooks_ran(run: RunId) -> KernelInput {
    KernelInput::StopHooksRan { task: run.task, activation: run.activation }
}

/// All activations whose start hooks ran and whose stop hooks did not.
fn open_activations(kernel: &Kernel) -> Vec<RunId> {
    kernel.tasks().flat_map(|task| task.pending_stop_hooks.iter().map(|activation| run_id(task, *activation))).collect()
}

/// Ended activations whose start hooks ran and whose stop hooks did not.
fn ended_activations(kernel: &Kernel) -> Vec<RunId> {
    let is_over = |task: &KernelTask, activation: Activation| activation < task.activation || is_at_rest(task);
    let of_task = |task: &KernelTask| -> Vec<RunId> {
        let over = task.pending_stop_hooks.iter().filter(|activation| is_over(task, **activation));
        over.map(|activation| run_id(task, *activation)).collect()
    };
    kernel.tasks().filter(|task| !task.pending_stop_hooks.is_empty()).flat_map(of_task).collect()
}

/// Whether a task's latest activation has ended.
fn is_at_rest(task: &KernelTask) -> bool {
    match &task.phase {
        TaskPhase::Idle | TaskPhase::Finished(_) | TaskPhase::Queued(QueuePurpose::Begin) => true,
        TaskPhase::Queued(_) | TaskPhase::Running(_) | TaskPhase::Parked(_) | TaskPhase::Interrupted => false,
    }
}

fn run_id(task: &KernelTask, activation: Activation) -> RunId {
    let attempt = if activation == task.activation { task.attempt } else { Attempt(1) };
    let task: TaskId = task.id;
    RunId { task, activation, attempt }
}
