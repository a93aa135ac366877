//! Tool calls that wait for other tasks.

use std::collections::BTreeSet;

use protocol::{At, CallId, Event, Mode, Run, TaskId, Turn, WaitEnd, WaitMode};

use super::Draft;
use super::spawn::expect_call;
use crate::{CallPhase, Effect, Refusal, Task, Wait};

impl Draft<'_> {
    pub(super) fn wait(&mut self, run: Run, turn: Turn, call: CallId, wait: Wait) -> Result<(), Refusal> {
        expect_call(self.current(run)?, turn, &call, &CallPhase::Started)?;
        for id in &wait.on {
            self.task(*id)?;
        }
        if let Some(id) = self.circle(run.task, &wait.on) {
            return Err(Refusal::WaitCycle(id));
        }
        let Wait { on, mode, until } = wait;
        let began = Event::WaitBegan { call: call.clone(), on, mode, until_at: until };
        self.record(run.task, began)?;
        self.settle_wait(run.task, &call)
    }

    /// Ends a wait that ends when its own run says so. One that has ended, for its time was up, stays as it is.
    pub(super) fn wait_over(&mut self, run: Run, turn: Turn, call: CallId) -> Result<(), Refusal> {
        let task = self.current(run)?;
        match task.work.call(&call) {
            _ if task.turn != turn => Err(Refusal::NoTurn),
            Some(CallPhase::Waiting(Wait { mode: WaitMode::Told, .. })) => {
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
            | None => Err(Refusal::Call(call)),
        }
    }

    /// Sends a task that its parent waits for to the background. Others who wait for it go on waiting.
    pub(super) fn promote(&mut self, id: TaskId) -> Result<(), Refusal> {
        let task = self.task(id)?;
        if task.mode == Mode::Background || task.phase.is_at_rest() {
            return Err(Refusal::NotAwaited(id));
        }
        let parent = task.parent;
        if parent != self.state.root {
            return Err(Refusal::NotRoots(id));
        }
        self.record(id, Event::TaskPromoted)?;
        for (waiter, call) in self.waiters(id).into_iter().filter(|(waiter, _)| Some(*waiter) == parent) {
            self.end_wait(waiter, call, WaitEnd::Promoted)?;
        }
        Ok(())
    }

    /// Ends every wait that the rest of `id` satisfies.
    pub(super) fn settle_waits(&mut self, id: TaskId) -> Result<(), Refusal> {
        for (waiter, call) in self.waiters(id) {
            self.settle_wait(waiter, &call)?;
        }
        Ok(())
    }

    /// Ends the waits of a task whose time is up. A child that its call no longer waits for goes on, and its result
    /// comes as mail.
    pub(super) fn expire_waits(&mut self, id: TaskId) -> Result<(), Refusal> {
        let expired = |until: Option<At>| until.is_some_and(|until| until <= self.now);
        let calls: Vec<CallId> =
            self.task(id)?.work.waits().filter(|(_, wait)| expired(wait.until)).map(|(call, _)| call.clone()).collect();
        for call in calls {
            if let Some(child) = self.started_by(id, &call) {
                self.record(child, Event::TaskPromoted)?;
            }
            self.end_wait(id, call, WaitEnd::TimedOut)?;
        }
        Ok(())
    }

    /// The child that this call started and still waits for: its result goes here, and nowhere else.
    fn started_by(&self, parent: TaskId, call: &CallId) -> Option<TaskId> {
        let Some(CallPhase::Waiting(wait)) = self.state.tasks.get(&parent).and_then(|task| task.work.call(call)) else {
            return None;
        };
        let is_its = |task: &Task| {
            let started = (task.parent, task.call.as_ref()) == (Some(parent), Some(call));
            started && task.mode == Mode::Sync && !task.phase.is_at_rest()
        };
        wait.on.iter().copied().find(|id| self.state.tasks.get(id).is_some_and(is_its))
    }

    fn settle_wait(&mut self, waiter: TaskId, call: &CallId) -> Result<(), Refusal> {
        let Some(CallPhase::Waiting(wait)) = self.task(waiter)?.work.call(call) else { return Ok(()) };
        // Who started last mostly ends last, so that one look tells that there is more to wait for.
        let mut rests = wait.on.iter().rev().map(|id| self.task(*id).is_ok_and(|task| task.phase.is_at_rest()));
        let satisfied = match wait.mode {
            WaitMode::Any => wait.on.is_empty() || rests.any(|rests| rests),
            WaitMode::All => rests.all(|rests| rests),
            WaitMode::Told => false,
        };
        if satisfied { self.end_wait(waiter, call.clone(), WaitEnd::Satisfied) } else { Ok(()) }
    }

    fn end_wait(&mut self, waiter: TaskId, call: CallId, why: WaitEnd) -> Result<(), Refusal> {
        self.record(waiter, Event::WaitEnded { call: call.clone(), why })?;
        let task = self.task(waiter)?;
        if task.is_running() {
            let run = task.run();
            self.effects.push(Effect::WaitOver { run, call, why });
        }
        Ok(())
    }

    fn waiters(&self, id: TaskId) -> Vec<(TaskId, CallId)> {
        self.state.waiters.get(&id).into_iter().flatten().cloned().collect()
    }

    /// The first of `on` that is `waiter`, is above it, or waits for it through any number of others.
    fn circle(&self, waiter: TaskId, on: &[TaskId]) -> Option<TaskId> {
        let above: BTreeSet<TaskId> = self.state.lineage(waiter).map(|task| task.id).collect();
        let mut seen = BTreeSet::new();
        on.iter().copied().find(|from| above.contains(from) || self.waits_for(*from, waiter, &mut seen))
    }

    /// Whether `from` waits for `target`, through any number of others that were not `seen`.
    fn waits_for(&self, from: TaskId, target: TaskId, seen: &mut BTreeSet<TaskId>) -> bool {
        let mut next = vec![from];
        while let Some(id) = next.pop() {
            if id == target {
                return true;
            }
            if seen.insert(id) {
                let waits = self.state.tasks.get(&id).into_iter().flat_map(|task| task.work.waits());
                next.extend(waits.flat_map(|(_, wait)| &wait.on));
            }
        }
        false
    }
}
