//! Tool calls that wait for other tasks.

use std::collections::BTreeSet;

use protocol::{CallId, Event, RunId, TaskId, TaskMode, Timestamp, Turn, WaitEnd, WaitMode};

use super::DecisionDraft;
use super::spawn::expect_call;
use crate::{CallPhase, CallWait, InputRefusal, KernelEffect, KernelTask};

impl DecisionDraft<'_> {
    pub(super) fn begin_wait(
        &mut self,
        run: RunId,
        turn: Turn,
        call: CallId,
        wait: CallWait,
    ) -> Result<(), InputRefusal> {
        expect_call(self.task_of_run(run)?, turn, &call, &CallPhase::Started)?;
        for id in &wait.awaited {
            self.task(*id)?;
        }
        if let Some(id) = self.find_wait_cycle(run.task, &wait.awaited) {
            return Err(InputRefusal::WaitCycle(id));
        }
        let CallWait { awaited: on, mode, until } = wait;
        let began = Event::WaitBegan { call: call.clone(), on, mode, until_at: until };
        self.record(run.task, began)?;
        self.settle_wait(run.task, &call)
    }

    /// Ends a manual wait at the request of its run. A wait that has already timed out stays as it is.
    pub(super) fn end_manual_wait(&mut self, run: RunId, turn: Turn, call: CallId) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        match task.work.call(&call) {
            _ if task.turn != turn => Err(InputRefusal::WrongTurn),
            Some(CallPhase::Waiting(CallWait { mode: WaitMode::Manual, .. })) => {
                self.end_wait(run.task, call, WaitEnd::Satisfied)
            }
            Some(CallPhase::Waited { .. }) => Ok(()),
            Some(
                CallPhase::Waiting(_)
                | CallPhase::Pending
                | CallPhase::Started
                | CallPhase::Asking(_)
                | CallPhase::Decided(_)
                | CallPhase::Answered,
            )
            | None => Err(InputRefusal::WrongCallPhase(call)),
        }
    }

    /// Moves a task that the root waits for into the background. Other tasks continue to wait for it.
    pub(super) fn promote(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        if task.mode == TaskMode::Background || task.phase.is_at_rest() {
            return Err(InputRefusal::NotAwaited(id));
        }
        let parent = task.parent;
        if parent != self.state.root {
            return Err(InputRefusal::NotRootChild(id));
        }
        self.record(id, Event::TaskPromoted)?;
        for (waiter, call) in self.waiters(id).into_iter().filter(|(waiter, _)| Some(*waiter) == parent) {
            self.end_wait(waiter, call, WaitEnd::Promoted)?;
        }
        Ok(())
    }

    /// Ends every wait that is satisfied now that `id` is at rest.
    pub(super) fn settle_waits(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        for (waiter, call) in self.waiters(id) {
            self.settle_wait(waiter, &call)?;
        }
        Ok(())
    }

    /// Ends the waits of a task that have timed out. A child that its call no longer waits for continues, and its
    /// result comes as mail.
    pub(super) fn expire_waits(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let expired = |until: Option<Timestamp>| until.is_some_and(|until| until <= self.now);
        let calls: Vec<CallId> =
            self.task(id)?.work.waits().filter(|(_, wait)| expired(wait.until)).map(|(call, _)| call.clone()).collect();
        for call in calls {
            if let Some(child) = self.awaited_child_of(id, &call) {
                self.record(child, Event::TaskPromoted)?;
            }
            self.end_wait(id, call, WaitEnd::TimedOut)?;
        }
        Ok(())
    }

    /// The child that this call started and still waits for.
    fn awaited_child_of(&self, parent: TaskId, call: &CallId) -> Option<TaskId> {
        let Some(CallPhase::Waiting(wait)) = self.state.tasks.get(&parent).and_then(|task| task.work.call(call)) else {
            return None;
        };
        let is_awaited_child = |task: &KernelTask| {
            let started = (task.parent, task.call.as_ref()) == (Some(parent), Some(call));
            started && task.mode == TaskMode::Sync && !task.phase.is_at_rest()
        };
        wait.awaited.iter().copied().find(|id| self.state.tasks.get(id).is_some_and(is_awaited_child))
    }

    fn settle_wait(&mut self, waiter: TaskId, call: &CallId) -> Result<(), InputRefusal> {
        let Some(CallPhase::Waiting(wait)) = self.task(waiter)?.work.call(call) else { return Ok(()) };
        // The last started task usually ends last, so checking it first is cheapest.
        let mut at_rest = wait.awaited.iter().rev().map(|id| self.task(*id).is_ok_and(|task| task.phase.is_at_rest()));
        let satisfied = match wait.mode {
            WaitMode::Any => wait.awaited.is_empty() || at_rest.any(|rests| rests),
            WaitMode::All => at_rest.all(|rests| rests),
            WaitMode::Manual => false,
        };
        if satisfied { self.end_wait(waiter, call.clone(), WaitEnd::Satisfied) } else { Ok(()) }
    }

    fn end_wait(&mut self, waiter: TaskId, call: CallId, why: WaitEnd) -> Result<(), InputRefusal> {
        self.record(waiter, Event::WaitEnded { call: call.clone(), why })?;
        let task = self.task(waiter)?;
        if task.is_running() {
            let run = task.run_id();
            self.effects.push(KernelEffect::WaitOver { run, call, why });
        }
        Ok(())
    }

    fn waiters(&self, id: TaskId) -> Vec<(TaskId, CallId)> {
        self.state.waiters.get(&id).into_iter().flatten().cloned().collect()
    }

    /// The first of `on` that is `waiter`, is above it, or waits for it, directly or through other tasks.
    fn find_wait_cycle(&self, waiter: TaskId, on: &[TaskId]) -> Option<TaskId> {
        let above: BTreeSet<TaskId> = self.state.lineage(waiter).map(|task| task.id).collect();
        let mut seen = BTreeSet::new();
        on.iter().copied().find(|from| above.contains(from) || self.waits_for(*from, waiter, &mut seen))
    }

    /// Whether `from` waits for `target`, directly or through tasks that are not in `seen`.
    fn waits_for(&self, from: TaskId, target: TaskId, seen: &mut BTreeSet<TaskId>) -> bool {
        let mut to_visit = vec![from];
        while let Some(id) = to_visit.pop() {
            if id == target {
                return true;
            }
            if seen.insert(id) {
                let awaited = self.state.tasks.get(&id).into_iter().flat_map(|task| task.work.waits());
                to_visit.extend(awaited.flat_map(|(_, wait)| &wait.awaited));
            }
        }
        false
    }
}
