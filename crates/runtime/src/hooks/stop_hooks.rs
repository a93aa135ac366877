//! Activations that hooks were told the start of and that ended before hooks could be told their stop: stopped, failed,
//! or ended by an owner that is gone. Somebody tells it, once.

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
use crate::agent::SessionContext;
use crate::bus::{BusMessage, Subscription};
use crate::supervisor::{InputRejection, Supervisor};

/// How many agents are parted from at once.
const MAX_CONCURRENT: usize = 8;

/// How long whoever leaves the session waits for hooks on what has ended.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(10);

/// How what was open at the beginning is parted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenActivationPolicy {
    /// Hooks are told.
    Run,
    /// They are not: they know of it in another session.
    Skip,
}

/// Tells hooks of activations that have ended without it.
#[derive(Debug)]
pub(crate) struct StopHookRuns {
    closing: CancellationToken,
    watcher: AbortOnDropHandle<()>,
}

impl StopHookRuns {
    /// Begins to watch the session, if anything in it may have to be parted from.
    pub(crate) async fn begin(
        context: &Arc<SessionContext>,
        supervisor: &Supervisor,
        seq: u64,
        manner: OpenActivationPolicy,
    ) -> Result<Option<StopHookRuns>, InputRejection> {
        let left = supervisor.query(open_activations).await?;
        let catalog = &context.settings.catalog;
        let is_scoped = catalog.agents.iter().chain(&context.settings.main_agent).any(|agent| !agent.hooks.is_empty());
        if left.is_empty() && !is_scoped && !context.session_hooks.has_activation_hooks() {
            return Ok(None);
        }
        if manner == OpenActivationPolicy::Skip {
            for run in supervisor.query(ended_activations).await? {
                supervisor.submit(mark_stop_hooks_ran(run)).await?;
            }
        }
        let closing = CancellationToken::new();
        let watch = StopHookWatcher {
            context: Arc::clone(context),
            supervisor: supervisor.clone(),
            under_way: HashSet::new(),
            runs: JoinSet::new(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
        };
        let events = context.bus.subscribe(seq);
        #[expect(clippy::disallowed_methods, reason = "its handle, which ends it, is a field of its owner")]
        let attendant = AbortOnDropHandle::new(tokio::spawn(watch.watch_ends(events, closing.clone())));
        Ok(Some(StopHookRuns { closing, watcher: attendant }))
    }

    /// Parts from what has ended, within a bound; the next owner does what is left.
    pub(crate) async fn finish(self) {
        self.closing.cancel();
        if tokio::time::timeout(SHUTDOWN_WAIT, self.watcher).await.is_err() {
            tracing::warn!("hooks on ended agents took too long; whoever opens the session next tells them");
        }
    }
}

struct StopHookWatcher {
    context: Arc<SessionContext>,
    supervisor: Supervisor,
    under_way: HashSet<RunId>,
    runs: JoinSet<RunId>,
    permits: Arc<Semaphore>,
}

impl StopHookWatcher {
    async fn watch_ends(mut self, mut events: Subscription, closing: CancellationToken) {
        while self.start_due_runs().await.is_ok() {
            tokio::select! {
                biased;
                () = closing.cancelled() => break,
                Some(parted) = self.runs.join_next() => drop(parted),
                goes_on = next_end(&mut events) => {
                    if !goes_on {
                        return;
                    }
                }
            }
        }
        // What ended up to here.
        let _gone = self.start_due_runs().await;
        while self.runs.join_next().await.is_some() {}
    }

    /// Begins to part from everything that has ended.
    async fn start_due_runs(&mut self) -> Result<(), InputRejection> {
        for run in self.supervisor.query(ended_activations).await? {
            if self.under_way.insert(run) {
                let (context, supervisor, room) =
                    (Arc::clone(&self.context), self.supervisor.clone(), Arc::clone(&self.permits));
                self.runs.spawn(async move {
                    // Nobody closes it.
                    let _room = room.acquire().await;
                    run_stop_hooks(&context, run).await;
                    if let Err(rejected) = supervisor.submit(mark_stop_hooks_ran(run)).await {
                        tracing::info!(%rejected, %run, "that hooks were told of an end is not noted");
                    }
                    run
                });
            }
        }
        Ok(())
    }
}

/// Waits until another activation ends; whether one can.
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
                tracing::warn!(%error, "ends of agents are no longer seen");
                return false;
            }
        }
    }
}

async fn run_stop_hooks(context: &Arc<SessionContext>, run: RunId) {
    let outcome =
        |known: &crate::roster::RosterEntry| known.endings.get(&run.activation).map(|ending| ending.outcome.as_str());
    let reason = context.roster.with_task(run.task, outcome).flatten();
    let said = reason.map(|_| context.task_trace(run.task).result_of(run.activation).0.to_owned()).unwrap_or_default();
    let reason = reason.unwrap_or("ended");
    // It is over: there is nothing to keep from ending.
    let _told = run_hooks(
        context,
        run,
        HookEventData::AgentStop { reason: reason.into(), last_message: said, is_repeated: false },
    )
    .await;
}

fn mark_stop_hooks_ran(run: RunId) -> KernelInput {
    KernelInput::StopHooksRan { task: run.task, activation: run.activation }
}

/// What was greeted and not parted from.
fn open_activations(kernel: &Kernel) -> Vec<RunId> {
    kernel.tasks().flat_map(|task| task.pending_stop_hooks.iter().map(|activation| run(task, *activation))).collect()
}

/// What has ended among that.
fn ended_activations(kernel: &Kernel) -> Vec<RunId> {
    let is_over = |task: &KernelTask, activation: Activation| activation < task.activation || is_at_rest(task);
    let of_task = |task: &KernelTask| -> Vec<RunId> {
        let over = task.pending_stop_hooks.iter().filter(|activation| is_over(task, **activation));
        over.map(|activation| run(task, *activation)).collect()
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

fn run(task: &KernelTask, activation: Activation) -> RunId {
    let attempt = if activation == task.activation { task.attempt } else { Attempt(1) };
    let task: TaskId = task.id;
    RunId { task, activation, attempt }
}
