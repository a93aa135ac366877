//! What is noted about a task besides its work: silence, hooks, and that nobody needs its record.

use protocol::{Activation, Event, RunId, TaskId, Timestamp};

use super::DecisionDraft;
use crate::{InputRefusal, SlotStatus, TaskPhase};

impl DecisionDraft<'_> {
    /// A run is silent. One that waits for others, for a person or for a slot has a reason to be.
    pub(super) fn stall(&mut self, run: RunId, since_at: Timestamp) -> Result<(), InputRefusal> {
        let task = self.current(run)?;
        let has_reason = task.work.is_waiting() || task.phase != TaskPhase::Running(SlotStatus::Holding);
        if task.stalled || has_reason {
            return Ok(());
        }
        self.record(run.task, Event::TaskStalled { since_at })
    }

    /// A silent run is heard again.
    pub(super) fn unstall(&mut self, run: RunId) -> Result<(), InputRefusal> {
        self.current(run)?;
        self.note_activity(run.task)
    }

    /// What a run does is a sign of life, whoever watches it.
    pub(super) fn note_activity(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        if self.task(id)?.stalled { self.record(id, Event::TaskUnstalled) } else { Ok(()) }
    }

    /// An activation is greeted once, however many attempts it takes.
    pub(super) fn record_start_hooks(&mut self, run: RunId, context: Vec<String>) -> Result<(), InputRefusal> {
        let activation = run.activation;
        if self.current(run)?.start_hooks_ran >= activation {
            return Ok(());
        }
        self.record(run.task, Event::StartHooksRan { activation, context })
    }

    /// An activation that was greeted is parted from once, whoever owns the session by then; one under way only where
    /// it may end.
    pub(super) fn record_stop_hooks(&mut self, id: TaskId, activation: Activation) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let unread = !task.inbox.is_empty() && !self.may_rest_over(task);
        if task.is_running() && task.activation == activation && unread {
            return Err(InputRefusal::MailWaiting);
        }
        if !task.pending_stop_hooks.contains(&activation) {
            return Ok(());
        }
        self.record(id, Event::StopHooksRan { activation })
    }

    pub(super) fn forget(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        if !task.is_finished() {
            return Err(InputRefusal::NotEnded(id));
        }
        if task.forgotten { Ok(()) } else { self.record(id, Event::TaskForgotten) }
    }
}
