//! What is noted about a task besides its work: silence, hooks, and that nobody needs its record.

use protocol::{Activation, At, Event, Run, TaskId};

use super::Draft;
use crate::{Footing, Phase, Refusal};

impl Draft<'_> {
    /// A run is silent. One that waits for others, for a person or for a slot has a reason to be.
    pub(super) fn stall(&mut self, run: Run, since_at: At) -> Result<(), Refusal> {
        let task = self.current(run)?;
        let has_reason = task.work.is_waiting() || task.phase != Phase::Running(Footing::Slot);
        if task.stalled || has_reason {
            return Ok(());
        }
        self.record(run.task, Event::TaskStalled { since_at })
    }

    /// A silent run is heard again.
    pub(super) fn stir(&mut self, run: Run) -> Result<(), Refusal> {
        self.current(run)?;
        self.heard(run.task)
    }

    /// What a run does is a sign of life, whoever watches it.
    pub(super) fn heard(&mut self, id: TaskId) -> Result<(), Refusal> {
        if self.task(id)?.stalled { self.record(id, Event::TaskStirred) } else { Ok(()) }
    }

    /// An activation is greeted once, however many attempts it takes.
    pub(super) fn greet(&mut self, run: Run, context: Vec<String>) -> Result<(), Refusal> {
        let activation = run.activation;
        if self.current(run)?.greeted >= activation {
            return Ok(());
        }
        self.record(run.task, Event::ActivationGreeted { activation, context })
    }

    /// An activation that was greeted is parted from once, whoever owns the session by then; one under way only where
    /// it may end.
    pub(super) fn part(&mut self, id: TaskId, activation: Activation) -> Result<(), Refusal> {
        let task = self.task(id)?;
        let unread = !task.inbox.is_empty() && !self.may_rest_over(task);
        if task.is_running() && task.activation == activation && unread {
            return Err(Refusal::MailWaiting);
        }
        if !task.unparted.contains(&activation) {
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
