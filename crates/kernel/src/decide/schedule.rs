//! Scheduling: which task runs next.

use protocol::{Activation, Attempt, Event, OwnerLoss, RunId, TaskId, TaskMode, Timestamp};

use super::{DecisionDraft, WakePolicy};
use crate::state::SessionAdmission;
use crate::{
    ActivationWork, InputRefusal, KernelEffect, KernelTask, MAX_RESULT_WINDOW_FACTOR, MemoryPressure, QueuePurpose,
    TaskPhase,
};

impl DecisionDraft<'_> {
    /// Gives every free slot to the next task in line, first to those that return from a wait.
    pub(super) fn fill_slots(&mut self) -> Result<(), InputRefusal> {
        if self.wake_policy == WakePolicy::Later {
            return Ok(());
        }
        // If the limits allow nothing to run, tasks that started under other limits continue one at a time.
        while self.state.slots.held < self.limits.live.max(1) {
            if let Some(id) = self.state.slots.returning.first(|agent_type| self.has_room_for(agent_type)) {
                self.record(id, Event::SlotRegained)?;
                let run = self.task(id)?.run_id();
                self.effects.push(KernelEffect::MayProceed(run));
            } else if let Some(id) = self.next_to_start() {
                self.start_run(id)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// The next task to start: the first in line whose agent type has room. While memory is tight, a task starts only
    /// if no other runs, so that there is always progress.
    fn next_to_start(&self) -> Option<TaskId> {
        let must_wait = self.state.memory == MemoryPressure::Tight && self.state.slots.held > 0;
        if must_wait { None } else { self.state.slots.starting.first(|agent_type| self.has_room_for(agent_type)) }
    }

    fn has_room_for(&self, agent_type: &str) -> bool {
        self.limits.max_by_type.get(agent_type).is_none_or(|cap| self.state.slots.held_by(agent_type) < (*cap).max(1))
    }

    /// Starts a queued task's next activation, or the next attempt at its current one.
    pub(super) fn start_run(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let (cancel, (activation, attempt)) = (task.cancel, next_run(task));
        self.record(id, Event::ActivationStarted { activation, attempt })?;
        let run = RunId { task: id, activation, attempt };
        self.effects.push(KernelEffect::Start(run));
        // A cancel request reached only an earlier run; tell this one.
        self.effects.extend(cancel.map(|(_, how)| KernelEffect::Stop { run, how }));
        Ok(())
    }

    /// Queues a task that is idle, was interrupted or was parked; it starts at once if it needs no slot.
    pub(super) fn requeue(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        self.record(id, Event::TaskRequeued)?;
        self.start_unslotted(id)
    }

    /// Starts a queued task that needs no slot: a command, the root, or a task that will only continue to wait.
    pub(super) fn start_unslotted(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        if task.needs_slot() && !task.work.is_waiting() { Ok(()) } else { self.start_run(id) }
    }

    /// Wakes an idle task that has mail.
    pub(super) fn wake(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let may_wake = self.wake_policy == WakePolicy::Now && self.state.admission == SessionAdmission::Open;
        if !may_wake || task.phase != TaskPhase::Idle || task.inbox.is_empty() {
            return Ok(());
        }
        // The call that waited for the first result is answered; later results go to the inbox.
        if task.mode == TaskMode::Sync {
            self.record(id, Event::TaskPromoted)?;
        }
        self.requeue(id)
    }

    /// Wakes a task whose unread mail is only results. While agents that it started are at work, the results wait for
    /// more results, so that not every result costs a turn.
    pub(super) fn wake_for_results(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let has_mail_while_idle =
            self.wake_policy == WakePolicy::Now && task.phase == TaskPhase::Idle && !task.inbox.is_empty();
        if !has_mail_while_idle || self.state.admission == SessionAdmission::Closed || !self.may_delay_results(task) {
            return self.wake(id);
        }
        if task.wake_at.is_some() {
            return Ok(());
        }
        let factor =
            1_u32.checked_shl(task.result_delays).unwrap_or(MAX_RESULT_WINDOW_FACTOR).min(MAX_RESULT_WINDOW_FACTOR);
        let until_at = self.now.plus(self.limits.result_window.saturating_mul(factor));
        self.record(id, Event::WakeDelayed { until_at })
    }

    /// Whether the task's unread mail can wait: all of it is results, and more results will come.
    pub(super) fn may_delay_results(&self, task: &KernelTask) -> bool {
        !self.limits.result_window.is_zero() && task.agents_at_work > 0 && task.has_only_results()
    }

    /// Sets or renews the lease of a run. It is not durable: a new owner grants its own leases.
    pub(super) fn set_lease(&mut self, run: RunId, until: Timestamp) -> Result<(), InputRefusal> {
        self.task_of_run(run)?;
        self.state.update(run.task, |task| {
            task.lease = Some(until);
            Ok(())
        })?;
        Ok(())
    }

    /// Notes how much of an answer has arrived. It is not durable: what a dead owner received is unknown.
    pub(super) fn note_streamed(&mut self, run: RunId, output: u32) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        if !matches!(task.work, ActivationWork::AwaitingModel(_)) {
            return Err(InputRefusal::WrongTurn);
        }
        self.state.update(run.task, |task| {
            task.streamed_tokens = Some(output);
            Ok(())
        })?;
        Ok(())
    }

    /// Handles every alarm that is due.
    pub(super) fn tick(&mut self) -> Result<(), InputRefusal> {
        let due: Vec<TaskId> =
            self.state.alarms.iter().take_while(|(at, ..)| *at <= self.now).map(|(_, id, _)| *id).collect();
        for id in due {
            self.expire_waits(id)?;
            self.expire_asks(id)?;
            self.expire_grace(id)?;
            let task = self.task(id)?;
            match task.phase {
                TaskPhase::Parked(parking) if parking.is_over(self.now) => self.requeue(id)?,
                TaskPhase::Idle if task.wake_at.is_some_and(|at| at <= self.now) => self.wake(id)?,
                TaskPhase::Running(_) if task.lease.is_some_and(|until| until <= self.now) => {
                    self.interrupt_run(id)?;
                    let task = self.task(id)?;
                    if task.phase == TaskPhase::Interrupted && task.kind.on_owner_loss() == OwnerLoss::Resume {
                        self.requeue(id)?;
                    }
                }
                TaskPhase::Running(_)
                | TaskPhase::Parked(_)
                | TaskPhase::Queued(_)
                | TaskPhase::Idle
                | TaskPhase::Interrupted
                | TaskPhase::Finished(_) => {}
            }
        }
        Ok(())
    }
}

fn next_run(task: &KernelTask) -> (Activation, Attempt) {
    match task.phase {
        TaskPhase::Queued(QueuePurpose::Begin) => (Activation(task.activation.0 + 1), Attempt(1)),
        TaskPhase::Queued(QueuePurpose::Resume)
        | TaskPhase::Running(_)
        | TaskPhase::Idle
        | TaskPhase::Parked(_)
        | TaskPhase::Interrupted
        | TaskPhase::Finished(_) => (task.activation, Attempt(task.attempt.0 + 1)),
    }
}
