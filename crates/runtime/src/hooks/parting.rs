//! Activations that hooks were told the start of and that ended before hooks could be told their stop: stopped, failed,
//! or ended by an owner that is gone. Somebody tells it, once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use hooks::Occasion;
use kernel::{Input, Kernel, Phase, Purpose, Task};
use protocol::{Activation, Attempt, Event, Run, TaskId};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::tell;
use crate::agent::Desk;
use crate::bus::{Live, Subscription};
use crate::supervisor::{Rejected, Supervisor};

/// How many agents are parted from at once.
const AT_ONCE: usize = 8;

/// How long whoever leaves the session waits for hooks on what has ended.
const LEAVING: Duration = Duration::from_secs(10);

/// How what was open at the beginning is parted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Hooks are told.
    Told,
    /// They are not: they know of it in another session.
    Silent,
}

/// Tells hooks of activations that have ended without it.
#[derive(Debug)]
pub(crate) struct Partings {
    closing: CancellationToken,
    attendant: AbortOnDropHandle<()>,
}

impl Partings {
    /// Begins to watch the session, if anything in it may have to be parted from.
    pub(crate) async fn begin(
        desk: &Arc<Desk>,
        supervisor: &Supervisor,
        seq: u64,
        manner: Manner,
    ) -> Result<Option<Partings>, Rejected> {
        let left = supervisor.look(open).await?;
        let catalog = &desk.settings.catalog;
        let is_scoped = catalog.agents.iter().chain(&desk.settings.main).any(|agent| !agent.hooks.is_empty());
        if left.is_empty() && !is_scoped && !desk.listeners.attend_activations() {
            return Ok(None);
        }
        if manner == Manner::Silent {
            for run in supervisor.look(ended).await? {
                supervisor.submit(part(run)).await?;
            }
        }
        let closing = CancellationToken::new();
        let watch = Watch {
            desk: Arc::clone(desk),
            supervisor: supervisor.clone(),
            under_way: HashSet::new(),
            partings: JoinSet::new(),
            room: Arc::new(Semaphore::new(AT_ONCE)),
        };
        let events = desk.bus.subscribe(seq);
        #[expect(clippy::disallowed_methods, reason = "its handle, which ends it, is a field of its owner")]
        let attendant = AbortOnDropHandle::new(tokio::spawn(watch.run(events, closing.clone())));
        Ok(Some(Partings { closing, attendant }))
    }

    /// Parts from what has ended, within a bound; the next owner does what is left.
    pub(crate) async fn finish(self) {
        self.closing.cancel();
        if tokio::time::timeout(LEAVING, self.attendant).await.is_err() {
            tracing::warn!("hooks on ended agents took too long; whoever opens the session next tells them");
        }
    }
}

struct Watch {
    desk: Arc<Desk>,
    supervisor: Supervisor,
    under_way: HashSet<Run>,
    partings: JoinSet<Run>,
    room: Arc<Semaphore>,
}

impl Watch {
    async fn run(mut self, mut events: Subscription, closing: CancellationToken) {
        while self.sweep().await.is_ok() {
            tokio::select! {
                biased;
                () = closing.cancelled() => break,
                Some(parted) = self.partings.join_next() => drop(parted),
                goes_on = next_end(&mut events) => {
                    if !goes_on {
                        return;
                    }
                }
            }
        }
        // What ended up to here.
        let _gone = self.sweep().await;
        while self.partings.join_next().await.is_some() {}
    }

    /// Begins to part from everything that has ended.
    async fn sweep(&mut self) -> Result<(), Rejected> {
        for run in self.supervisor.look(ended).await? {
            if self.under_way.insert(run) {
                let (desk, supervisor, room) =
                    (Arc::clone(&self.desk), self.supervisor.clone(), Arc::clone(&self.room));
                self.partings.spawn(async move {
                    // Nobody closes it.
                    let _room = room.acquire().await;
                    tell_stop(&desk, run).await;
                    if let Err(rejected) = supervisor.submit(part(run)).await {
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
            Ok(Some(Live::Event(envelope))) => {
                if let Event::ActivationEnded { .. } = envelope.entry.event {
                    return true;
                }
            }
            Ok(Some(Live::Text { .. })) => {}
            Ok(None) => return false,
            Err(error) => {
                tracing::warn!(%error, "ends of agents are no longer seen");
                return false;
            }
        }
    }
}

async fn tell_stop(desk: &Arc<Desk>, run: Run) {
    let outcome = |known: &crate::roster::Known| known.endings.get(&run.activation).map(|ending| ending.outcome.word());
    let reason = desk.roster.known(run.task, outcome).flatten();
    let said = reason.map(|_| desk.words(run.task).ended(run.activation).0.to_owned()).unwrap_or_default();
    let reason = reason.unwrap_or("ended");
    // It is over: there is nothing to keep from ending.
    let _told = tell(desk, run, Occasion::Stop { reason: reason.into(), said, again: false }).await;
}

fn part(run: Run) -> Input {
    Input::Part { task: run.task, activation: run.activation }
}

/// What was greeted and not parted from.
fn open(kernel: &Kernel) -> Vec<Run> {
    kernel.tasks().flat_map(|task| task.unparted.iter().map(|activation| run(task, *activation))).collect()
}

/// What has ended among that.
fn ended(kernel: &Kernel) -> Vec<Run> {
    let is_over = |task: &Task, activation: Activation| activation < task.activation || is_at_rest(task);
    let of_task = |task: &Task| -> Vec<Run> {
        let over = task.unparted.iter().filter(|activation| is_over(task, **activation));
        over.map(|activation| run(task, *activation)).collect()
    };
    kernel.tasks().filter(|task| !task.unparted.is_empty()).flat_map(of_task).collect()
}

/// Whether a task's latest activation has ended.
fn is_at_rest(task: &Task) -> bool {
    match &task.phase {
        Phase::Idle | Phase::Finished(_) | Phase::Queued(Purpose::Begin) => true,
        Phase::Queued(_) | Phase::Running(_) | Phase::Parked(_) | Phase::Interrupted => false,
    }
}

fn run(task: &Task, activation: Activation) -> Run {
    let attempt = if activation == task.activation { task.attempt } else { Attempt(1) };
    let task: TaskId = task.id;
    Run { task, activation, attempt }
}
