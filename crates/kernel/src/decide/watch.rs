//! What is noted about a task besides its work: silence, hooks, and that nobody needs its record.

use protocol::{Activation, At, Event, Run, TaskId};

use super::Draft;
use crate::Refusal;

impl Draft<'_> {
    /// A run is silent. One that waits for others, or for a person, has a reason to be.
    pub(super) fn stall(&mut self, run: Run, since_at: At) -> Result<(), Refusal> {
        let task = self.current(run)?;
        if task.stalled || task.work.is_waiting() {
            return Ok(());
        }
        self.record(run.task, Event::TaskStalled { since_at })
    }

    /// A silent run is heard again.
    pub(super) fn stir(&mut self, run: Run) -> Result<(), Refusal> {
        if self.current(run)?.stalled { self.record(run.task, Event::TaskStirred) } else { Ok(()) }
    }

    /// An activation that was greeted is parted from once, whoever owns the session by then.
    pub(super) fn part(&mut self, id: TaskId, activation: Activation) -> Result<(), Refusal> {
        if !self.task(id)?.unparted.contains(&activation) {
            return Ok(());
        }
        self.record(id, Event::ActivationParted { activation })
    }

    pub(super) fn forget(&mut self, id: TaskId) -> Result<(), Refusal> {
        let task = self.task(id)?;
        if !task.is_finished() {
            return Err(Refusal::NotEnded(id));
        }
        if task.forgotten { Ok(()) } else { self.record(id, Event::TaskForgotten) }
    }
}
