//! Looks once a second, as long as anything runs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use host::Clock;
use host::memory::MemoryHeadroom;
use kernel::{BoundaryPoint, Kernel, KernelInput, MemoryPressure, RunEnding, RunUpdate, SlotStatus, TaskPhase};
use protocol::{FailKind, RunId};

use super::silence::{LOOK, StallFinding};
use super::watched_runs::WatchFinding;
use super::{WatchdogSettings, WatchedRuns};
use crate::supervisor::{InputRejection, Supervisor};

/// Who looks.
pub(crate) struct Watchdog {
    settings: WatchdogSettings,
    watched_runs: Arc<WatchedRuns>,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
    memory_room: MemoryHeadroom,
}

impl Watchdog {
    pub(crate) fn new(
        watch: WatchdogSettings,
        watched_runs: Arc<WatchedRuns>,
        clock: Arc<dyn Clock>,
        supervisor: Supervisor,
    ) -> Watchdog {
        Watchdog { settings: watch, watched_runs, clock, supervisor, memory_room: MemoryHeadroom::default() }
    }

    /// Looks until the session ends.
    pub(crate) async fn run(mut self) {
        while let Ok(()) = self.look().await {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Looks once, when there is something to look at; fails when there is nobody any more to tell.
    async fn look(&mut self) -> Result<(), InputRejection> {
        self.watched_runs.wait_for_run().await;
        self.look_at_memory().await?;
        let found = self.watched_runs.look(&self.settings);
        let told = join_all(found.into_iter().map(|found| self.report_finding(found))).await;
        told.into_iter().try_for_each(unless_over)
    }

    async fn look_at_memory(&mut self) -> Result<(), InputRejection> {
        // A machine that tells nothing is taken to have enough.
        let reading = self.settings.gauge.read().ok();
        let room =
            reading.map_or(MemoryHeadroom::Ample, |reading| self.settings.memory.room(&reading, self.memory_room));
        if room == self.memory_room {
            return Ok(());
        }
        self.memory_room = room;
        tracing::info!(?room, ?reading, "the memory that is left");
        let memory = match room {
            MemoryHeadroom::Ample => MemoryPressure::Ample,
            MemoryHeadroom::Tight => MemoryPressure::Tight,
        };
        unless_over(self.supervisor.submit(KernelInput::Memory(memory)).await.map(drop))
    }

    async fn report_finding(&self, found: WatchFinding) -> Result<(), InputRejection> {
        let WatchFinding { run, finding, stop } = found;
        match finding {
            StallFinding::Recovered => self.supervisor.submit(KernelInput::Unstall(run)).await.map(drop),
            StallFinding::Stalled(_) | StallFinding::Aborted(_) if self.is_excused(run).await? => {
                self.watched_runs.reset_silence(run);
                Ok(())
            }
            StallFinding::Stalled(silent) => {
                let since = self.clock.now().minus(silent);
                self.supervisor.submit(KernelInput::Stall { run, since }).await.map(drop)
            }
            StallFinding::Aborted(silent) => {
                self.give_up(run, silent).await?;
                stop.cancel();
                Ok(())
            }
        }
    }

    /// Whether a run waits for others, for a person, or for its slot.
    async fn is_excused(&self, run: RunId) -> Result<bool, InputRejection> {
        let is_waiting = move |kernel: &Kernel| {
            kernel.task(run.task).is_some_and(|task| {
                task.run_id() == run
                    && (task.work.is_waiting() || task.phase != TaskPhase::Running(SlotStatus::Holding))
            })
        };
        self.supervisor.query(is_waiting).await
    }

    /// Ends a run in its place; the supervisor knows its words.
    async fn give_up(&self, run: RunId, silent: Duration) -> Result<(), InputRejection> {
        let message = format!("it showed no sign of life for {} s", silent.as_secs());
        tracing::warn!(%run, message, "a run is given up");
        // Mail that is not heard would wake the task again, for the same end. In the middle of a turn that comes later.
        unless_over(self.supervisor.report(run, RunUpdate::Boundary(BoundaryPoint::Between)).await)?;
        let ending = RunEnding::Failed { kind: FailKind::Stalled, message };
        self.supervisor.report(run, RunUpdate::Ended { ending, text: String::new() }).await
    }
}

/// A refusal means that the run has moved on meanwhile; only the end of the session ends the watch.
fn unless_over(told: Result<(), InputRejection>) -> Result<(), InputRejection> {
    match told {
        Ok(()) | Err(InputRejection::Refused(_) | InputRejection::Rule(_) | InputRejection::Hook(_)) => Ok(()),
        Err(over @ (InputRejection::Paused(_) | InputRejection::SessionEnded)) => Err(over),
    }
}
