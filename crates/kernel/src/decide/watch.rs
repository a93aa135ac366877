//! Facts about a task besides its work: stalls, hooks that ran, and its removal from lists.

use protocol::{Activation, Event, RunId, TaskId, Timestamp};

use super::DecisionDraft;
use crate::{InputRefusal, SlotStatus, TaskPhase};

impl DecisionDraft<'_> {
    /// Marks a silent run as stalled, unless it waits for other tasks, for a person or for a slot.
    pub(super) fn stall(&mut self, run: RunId, since_at: Timestamp) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        let may_be_silent = task.work.is_waiting() || task.phase != TaskPhase::Running(SlotStatus::Holding);
        if task.stalled || may_be_silent {
            return Ok(());
        }
        self.record(run.task, Event::TaskStalled { since_at })
    }

    /// Notes that a stalled run is active again.
    pub(super) fn unstall(&mut self, run: RunId) -> Result<(), InputRefusal> {
        self.task_of_run(run)?;
        self.note_activity(run.task)
    }

    /// Ends the stall of a task that shows activity.
    pub(super) fn note_activity(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        if self.task(id)?.stalled { self.record(id, Event::TaskUnstalled) } else { Ok(()) }
    }

    /// Records that start hooks have run: once per activation, regardless of the number of attempts.
    pub(super) fn record_start_hooks(&mut self, run: RunId, context: Vec<String>) -> Result<(), InputRefusal> {
        let activation = run.activation;
        if self.task_of_run(run)?.start_hooks_ran >= activation {
            return Ok(());
        }
        self.record(run.task, Event::StartHooksRan { activation, context })
    }

    /// Records that stop hooks have run: once per activation whose start hooks ran, under any owner; for a running
    /// activation only where it may end.
    pub(super) fn record_stop_hooks(&mut self, id: TaskId, activation: Activation) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let unread = !task.inbox.is_empty() && !self.may_idle_with_results(task);
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
