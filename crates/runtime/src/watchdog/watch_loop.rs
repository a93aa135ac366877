//! Checks the runs once a second.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use host::Clock;
use host::memory::MemoryHeadroom;
use kernel::{BoundaryPoint, Kernel, KernelInput, MemoryPressure, RunEnding, RunUpdate, SlotStatus, TaskPhase};
use protocol::{FailKind, RunId};

use super::silence::{CHECK_INTERVAL, StallFinding};
use super::watched_runs::WatchFinding;
use super::{WatchdogSettings, WatchedRuns};
use crate::supervisor::{InputRejection, Supervisor};

/// The watchdog of a session.
pub(crate) struct Watchdog {
    settings: WatchdogSettings,
    watched_runs: Arc<WatchedRuns>,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
    headroom: MemoryHeadroom,
}

impl Watchdog {
    pub(crate) fn new(
        settings: WatchdogSettings,
        watched_runs: Arc<WatchedRuns>,
        clock: Arc<dyn Clock>,
        supervisor: Supervisor,
    ) -> Watchdog {
        Watchdog { settings, watched_runs, clock, supervisor, headroom: MemoryHeadroom::default() }
    }

    /// Checks until the session ends.
    pub(crate) async fn run(mut self) {
        while let Ok(()) = self.check_once().await {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    /// Waits for a run, then checks once; fails when the session has ended.
    async fn check_once(&mut self) -> Result<(), InputRejection> {
        self.watched_runs.wait_for_run().await;
        self.check_memory().await?;
        let findings = self.watched_runs.check_all(&self.settings);
        let reported = join_all(findings.into_iter().map(|finding| self.report_finding(finding))).await;
        reported.into_iter().try_for_each(ignore_refusal)
    }

    async fn check_memory(&mut self) -> Result<(), InputRejection> {
        // If the memory cannot be read, assume that there is enough.
        let reading = self.settings.gauge.read().ok();
        let room =
            reading.map_or(MemoryHeadroom::Ample, |reading| self.settings.memory.headroom(&reading, self.headroom));
        if room == self.headroom {
            return Ok(());
        }
        self.headroom = room;
        tracing::info!(?room, ?reading, "the memory headroom changed");
        let memory = match room {
            MemoryHeadroom::Ample => MemoryPressure::Ample,
            MemoryHeadroom::Tight => MemoryPressure::Tight,
        };
        ignore_refusal(self.supervisor.submit(KernelInput::Memory(memory)).await.map(drop))
    }

    async fn report_finding(&self, found: WatchFinding) -> Result<(), InputRejection> {
        let WatchFinding { run, finding, stop } = found;
        match finding {
            StallFinding::Recovered => self.supervisor.submit(KernelInput::Unstall(run)).await.map(drop),
            StallFinding::Stalled(_) | StallFinding::Aborted(_) if self.is_run_waiting(run).await? => {
                self.watched_runs.reset_silence(run);
                Ok(())
            }
            StallFinding::Stalled(silent) => {
                let since = self.clock.now().minus(silent);
                self.supervisor.submit(KernelInput::Stall { run, since }).await.map(drop)
            }
            StallFinding::Aborted(silent) => {
                self.abort_run(run, silent).await?;
                stop.cancel();
                Ok(())
            }
        }
    }

    /// Whether a run waits for other tasks, for the user, or for its slot.
    async fn is_run_waiting(&self, run: RunId) -> Result<bool, InputRejection> {
        let is_waiting = move |kernel: &Kernel| {
            kernel.task(run.task).is_some_and(|task| {
                task.run_id() == run
                    && (task.work.is_waiting() || task.phase != TaskPhase::Running(SlotStatus::Holding))
            })
        };
        self.supervisor.query(is_waiting).await
    }

    /// Ends a run on its behalf; the supervisor adds its latest text.
    async fn abort_run(&self, run: RunId, silent: Duration) -> Result<(), InputRejection> {
        let message = format!("it showed no sign of life for {} s", silent.as_secs());
        tracing::warn!(%run, message, "a run is aborted");
        // Read unread mail first: it would wake the task again, which would end the same way. Within a turn, mail is
        // read later.
        ignore_refusal(self.supervisor.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)).await)?;
        let ending = RunEnding::Failed { kind: FailKind::Stalled, message };
        self.supervisor.report(run, RunUpdate::Ended { ending, text: String::new() }).await
    }
}

/// Ignores refusals, since the run may have changed meanwhile; only the end of the session ends the watchdog.
fn ignore_refusal(reported: Result<(), InputRejection>) -> Result<(), InputRejection> {
    match reported {
        Ok(())
        | Err(
            InputRejection::Refused(_)
            | InputRejection::Rule(_)
            | InputRejection::Hook(_)
            | InputRejection::Remote { .. },
        ) => Ok(()),
        Err(ended @ (InputRejection::Paused(_) | InputRejection::SessionEnded)) => Err(ended),
    }
}
