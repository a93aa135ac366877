//! Who runs next.

use protocol::{Activation, At, Attempt, Event, Mode, Run, TaskId};

use super::{Draft, Wakes};
use crate::state::Admission;
use crate::{Effect, Memory, Phase, Purpose, RESULT_WINDOW_GROWTH, Refusal, Task, Work};

impl Draft<'_> {
    /// Gives every free slot to the next in line: first to those who come back from a wait.
    pub(super) fn fill_slots(&mut self) -> Result<(), Refusal> {
        if self.wakes == Wakes::Later {
            return Ok(());
        }
        // What started under other limits goes on one at a time where they would let nothing run.
        while self.state.slots.held < self.limits.live.max(1) {
            if let Some(id) = self.state.slots.returning.first(|kind| self.has_room_for(kind)) {
                self.record(id, Event::SlotRegained)?;
                let run = self.task(id)?.run();
                self.effects.push(Effect::Go(run));
            } else if let Some(id) = self.next_fresh() {
                self.start(id)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Who may begin: the first in line of whose type not too many run. While memory is tight one agent at a time
    /// begins, so that something always does.
    fn next_fresh(&self) -> Option<TaskId> {
        let tight = self.state.memory == Memory::Tight && self.state.slots.held > 0;
        if tight { None } else { self.state.slots.fresh.first(|kind| self.has_room_for(kind)) }
    }

    fn has_room_for(&self, kind: &str) -> bool {
        self.limits.of_type.get(kind).is_none_or(|cap| self.state.slots.held_by(kind) < (*cap).max(1))
    }

    /// Starts a queued task's next activation, or its next attempt at the one under way.
    pub(super) fn start(&mut self, id: TaskId) -> Result<(), Refusal> {
        let task = self.task(id)?;
        let (cancel, (activation, attempt)) = (task.cancel, next_run(task));
        self.record(id, Event::ActivationStarted { activation, attempt })?;
        let run = Run { task: id, activation, attempt };
        self.effects.push(Effect::Start(run));
        // Only a run that was asked to stop knows that it was, and this is another.
        self.effects.extend(cancel.map(|(_, how)| Effect::Stop { run, how }));
        Ok(())
    }

    /// Queues a task that rests, was interrupted or was parked; it starts at once if it needs no slot.
    pub(super) fn requeue(&mut self, id: TaskId) -> Result<(), Refusal> {
        self.record(id, Event::TaskRequeued)?;
        self.start_unslotted(id)
    }

    /// Starts a queued task that needs no slot: a command, the root, or one that will only go on waiting.
    pub(super) fn start_unslotted(&mut self, id: TaskId) -> Result<(), Refusal> {
        let task = self.task(id)?;
        if task.needs_slot() && !task.work.is_waiting() { Ok(()) } else { self.start(id) }
    }

    /// Wakes an idle task that has mail.
    pub(super) fn wake(&mut self, id: TaskId) -> Result<(), Refusal> {
        let task = self.task(id)?;
        let may = self.wakes == Wakes::Now && self.state.admission == Admission::Open;
        if !may || task.phase != Phase::Idle || task.inbox.is_empty() {
            return Ok(());
        }
        // The call that waited for its first result is answered; the next result needs another way home.
        if task.mode == Mode::Sync {
            self.record(id, Event::TaskPromoted)?;
        }
        self.requeue(id)
    }

    /// The same for a task to which only results came: while agents that it started are at work, results wait for more
    /// of them, so that many that end apart do not cost a turn each.
    pub(super) fn wake_for_results(&mut self, id: TaskId) -> Result<(), Refusal> {
        let task = self.task(id)?;
        let idle = self.wakes == Wakes::Now && task.phase == Phase::Idle && !task.inbox.is_empty();
        if !idle || self.state.admission == Admission::Closed || !self.is_gathering(task) {
            return self.wake(id);
        }
        if task.wake_at.is_some() {
            return Ok(());
        }
        let growth = 1_u32.checked_shl(task.delays).unwrap_or(RESULT_WINDOW_GROWTH).min(RESULT_WINDOW_GROWTH);
        let until_at = self.now.plus(self.limits.result_window.saturating_mul(growth));
        self.record(id, Event::WakeDelayed { until_at })
    }

    /// Whether what the task has not read can wait: all of it are results, and there are more to come.
    pub(super) fn is_gathering(&self, task: &Task) -> bool {
        !self.limits.result_window.is_zero() && task.at_work > 0 && task.has_only_results()
    }

    /// Sets or renews the lease of a run. It is not durable: whoever adopts the session grants anew.
    pub(super) fn lease(&mut self, run: Run, until: At) -> Result<(), Refusal> {
        self.current(run)?;
        self.state.update(run.task, |task| {
            task.lease = Some(until);
            Ok(())
        })?;
        Ok(())
    }

    /// Notes how much of an answer has arrived. It is not durable: what a dead owner received is not known.
    pub(super) fn streamed(&mut self, run: Run, output: u32) -> Result<(), Refusal> {
        let task = self.current(run)?;
        if !matches!(task.work, Work::Asking(_)) {
            return Err(Refusal::NoTurn);
        }
        self.state.update(run.task, |task| {
            task.streamed = Some(output);
            Ok(())
        })?;
        Ok(())
    }

    /// Acts on everything whose time has come.
    pub(super) fn tick(&mut self) -> Result<(), Refusal> {
        let due: Vec<TaskId> =
            self.state.alarms.iter().take_while(|(at, ..)| *at <= self.now).map(|(_, id, _)| *id).collect();
        for id in due {
            self.expire_waits(id)?;
            self.expire_asks(id)?;
            self.expire_grace(id)?;
            let task = self.task(id)?;
            match task.phase {
                Phase::Parked(parking) if parking.is_over(self.now) => self.requeue(id)?,
                Phase::Idle if task.wake_at.is_some_and(|at| at <= self.now) => self.wake(id)?,
                Phase::Running(_) if task.lease.is_some_and(|until| until <= self.now) => {
                    self.let_go(id)?;
                    if self.task(id)?.phase == Phase::Interrupted {
                        self.requeue(id)?;
                    }
                }
                Phase::Running(_)
                | Phase::Parked(_)
                | Phase::Queued(_)
                | Phase::Idle
                | Phase::Interrupted
                | Phase::Finished(_) => {}
            }
        }
        Ok(())
    }
}

fn next_run(task: &Task) -> (Activation, Attempt) {
    match task.phase {
        Phase::Queued(Purpose::Begin) => (Activation(task.activation.0 + 1), Attempt(1)),
        Phase::Queued(Purpose::GoOn)
        | Phase::Running(_)
        | Phase::Idle
        | Phase::Parked(_)
        | Phase::Interrupted
        | Phase::Finished(_) => (task.activation, Attempt(task.attempt.0 + 1)),
    }
}
