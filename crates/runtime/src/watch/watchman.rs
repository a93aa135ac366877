//! Looks once a second, as long as anything runs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use host::Clock;
use host::memory::MemoryHeadroom;
use kernel::{Ending, Footing, Input, Kernel, Memory, Phase, Point, Report};
use protocol::{FailKind, Run};

use super::silence::{Finding, LOOK};
use super::wards::Found;
use super::{Wards, Watch};
use crate::supervisor::{Rejected, Supervisor};

/// Who looks.
pub(crate) struct Watchman {
    watch: Watch,
    wards: Arc<Wards>,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
    room: MemoryHeadroom,
}

impl Watchman {
    pub(crate) fn new(watch: Watch, wards: Arc<Wards>, clock: Arc<dyn Clock>, supervisor: Supervisor) -> Watchman {
        Watchman { watch, wards, clock, supervisor, room: MemoryHeadroom::default() }
    }

    /// Looks until the session ends.
    pub(crate) async fn stand(mut self) {
        while let Ok(()) = self.look().await {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Looks once, when there is something to look at; fails when there is nobody any more to tell.
    async fn look(&mut self) -> Result<(), Rejected> {
        self.wards.occupied().await;
        self.look_at_memory().await?;
        let found = self.wards.look(&self.watch);
        let told = join_all(found.into_iter().map(|found| self.tell(found))).await;
        told.into_iter().try_for_each(unless_over)
    }

    async fn look_at_memory(&mut self) -> Result<(), Rejected> {
        // A machine that tells nothing is taken to have enough.
        let reading = self.watch.gauge.read().ok();
        let room = reading.map_or(MemoryHeadroom::Ample, |reading| self.watch.memory.room(&reading, self.room));
        if room == self.room {
            return Ok(());
        }
        self.room = room;
        tracing::info!(?room, ?reading, "the memory that is left");
        let memory = match room {
            MemoryHeadroom::Ample => Memory::Ample,
            MemoryHeadroom::Tight => Memory::Tight,
        };
        unless_over(self.supervisor.submit(Input::Memory(memory)).await.map(drop))
    }

    async fn tell(&self, found: Found) -> Result<(), Rejected> {
        let Found { run, finding, stop } = found;
        match finding {
            Finding::Stirred => self.supervisor.submit(Input::Stir(run)).await.map(drop),
            Finding::Stalled(_) | Finding::GivenUp(_) if self.is_excused(run).await? => {
                self.wards.excuse(run);
                Ok(())
            }
            Finding::Stalled(silent) => {
                let since = self.clock.now().minus(silent);
                self.supervisor.submit(Input::Stall { run, since }).await.map(drop)
            }
            Finding::GivenUp(silent) => {
                self.give_up(run, silent).await?;
                stop.cancel();
                Ok(())
            }
        }
    }

    /// Whether a run waits for others, for a person, or for its slot.
    async fn is_excused(&self, run: Run) -> Result<bool, Rejected> {
        let is_waiting = move |kernel: &Kernel| {
            kernel.task(run.task).is_some_and(|task| {
                task.run() == run && (task.work.is_waiting() || task.phase != Phase::Running(Footing::Slot))
            })
        };
        self.supervisor.look(is_waiting).await
    }

    /// Ends a run in its place; the supervisor knows its words.
    async fn give_up(&self, run: Run, silent: Duration) -> Result<(), Rejected> {
        let message = format!("it showed no sign of life for {} s", silent.as_secs());
        tracing::warn!(%run, message, "a run is given up");
        // Mail that is not heard would wake the task again, for the same end. In the middle of a turn that comes later.
        unless_over(self.supervisor.report(run, Report::Boundary(Point::Between)).await)?;
        let ending = Ending::Failed { kind: FailKind::Stalled, message };
        self.supervisor.report(run, Report::Ended { ending, text: String::new() }).await
    }
}

/// A refusal means that the run has moved on meanwhile; only the end of the session ends the watch.
fn unless_over(told: Result<(), Rejected>) -> Result<(), Rejected> {
    match told {
        Ok(()) | Err(Rejected::Refused(_) | Rejected::Rule(_) | Rejected::Hook(_)) => Ok(()),
        Err(over @ (Rejected::Paused(_) | Rejected::Gone)) => Err(over),
    }
}
