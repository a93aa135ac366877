//! Who runs next.

use protocol::{Activation, At, Attempt, Event, Mode, Run, TaskId};

use super::{Draft, Wakes};
use crate::state::Admission;
use crate::{Effect, Memory, Phase, Purpose, Refusal, Task};

impl Draft<'_> {
    /// Gives every free slot to the next in line: first to those who come back from a wait.
    pub(super) fn fill_slots(&mut self) -> Result<(), Refusal> {
        if self.wakes == Wakes::Later {
            return Ok(());
        }
        while self.state.slots.held < self.limits.live {
            if let Some(id) = self.state.slots.returning.first() {
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

    /// Who may begin: the first in line of whose kind not too many run. While memory is tight one agent at a time
    /// begins, so that something always does.
    fn next_fresh(&self) -> Option<TaskId> {
        let tight = self.state.memory == Memory::Tight && self.state.slots.held > 0;
        let mut line = self.state.slots.fresh.iter().filter(|_| !tight);
        if self.limits.of_type.is_empty() { line.next() } else { line.find(|id| self.has_room_for(*id)) }
    }

    fn has_room_for(&self, id: TaskId) -> bool {
        let Some(task) = self.state.tasks.get(&id) else { return false };
        let live = self.state.live_of.get(&task.agent).copied().unwrap_or_default();
        self.limits.of_type.get(&*task.agent).is_none_or(|cap| live < *cap)
    }

    /// Starts a queued task's next activation, or its next attempt at the one under way.
    pub(super) fn start(&mut self, id: TaskId) -> Result<(), Refusal> {
        let (activation, attempt) = next_run(self.task(id)?);
        self.record(id, Event::ActivationStarted { activation, attempt })?;
        self.effects.push(Effect::Start(Run { task: id, activation, attempt }));
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

    /// Sets or renews the lease of a run. It is not durable: whoever adopts the session grants anew.
    pub(super) fn lease(&mut self, run: Run, until: At) -> Result<(), Refusal> {
        self.current(run)?;
        self.state.update(run.task, |task| {
            task.lease = Some(until);
            Ok(())
        })?;
        Ok(())
    }

    /// Acts on everything whose time has come.
    pub(super) fn tick(&mut self) -> Result<(), Refusal> {
        let due: Vec<TaskId> =
            self.state.alarms.keys().take_while(|(at, _)| *at <= self.now).map(|(_, id)| *id).collect();
        for id in due {
            self.expire_waits(id)?;
            self.expire_asks(id)?;
            self.expire_grace(id)?;
            let task = self.task(id)?;
            match task.phase {
                // Its quota is the only thing a parked task has an alarm for.
                Phase::Parked(_) => self.requeue(id)?,
                Phase::Running(_) if task.lease.is_some_and(|until| until <= self.now) => {
                    self.let_go(id)?;
                    if self.task(id)?.phase == Phase::Interrupted {
                        self.requeue(id)?;
                    }
                }
                Phase::Running(_) | Phase::Queued(_) | Phase::Idle | Phase::Interrupted | Phase::Finished(_) => {}
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
