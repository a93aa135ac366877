//! Tool calls that wait for other tasks.

use std::collections::BTreeSet;

use protocol::{At, CallId, Event, Mode, Run, TaskId, Turn, WaitEnd, WaitMode};

use super::Draft;
use super::spawn::expect_call;
use crate::{CallPhase, Effect, Refusal, Wait};

impl Draft<'_> {
    pub(super) fn wait(&mut self, run: Run, turn: Turn, call: CallId, wait: Wait) -> Result<(), Refusal> {
        expect_call(self.current(run)?, turn, &call, &CallPhase::Started)?;
        for id in &wait.on {
            self.task(*id)?;
        }
        if let Some(id) = wait.on.iter().find(|id| self.waits_for(**id, run.task)) {
            return Err(Refusal::WaitCycle(*id));
        }
        let Wait { on, mode, until } = wait;
        let began = Event::WaitBegan { call: call.clone(), on, mode, until_at: until };
        self.record(run.task, began)?;
        self.settle_wait(run.task, &call)
    }

    /// Sends a task that its parent waits for to the background. Others who wait for it go on waiting.
    pub(super) fn promote(&mut self, id: TaskId) -> Result<(), Refusal> {
        let task = self.task(id)?;
        if task.mode == Mode::Background || task.phase.is_at_rest() {
            return Err(Refusal::NotAwaited(id));
        }
        let parent = task.parent;
        if parent.is_some() && parent != self.state.root {
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

    /// Ends the waits of a task whose time is up.
    pub(super) fn expire_waits(&mut self, id: TaskId) -> Result<(), Refusal> {
        let expired = |until: Option<At>| until.is_some_and(|until| until <= self.now);
        let calls: Vec<CallId> =
            self.task(id)?.work.waits().filter(|(_, wait)| expired(wait.until)).map(|(call, _)| call.clone()).collect();
        for call in calls {
            self.end_wait(id, call, WaitEnd::TimedOut)?;
        }
        Ok(())
    }

    fn settle_wait(&mut self, waiter: TaskId, call: &CallId) -> Result<(), Refusal> {
        let Some(CallPhase::Waiting(wait)) = self.task(waiter)?.work.call(call) else { return Ok(()) };
        let mut rests = wait.on.iter().map(|id| self.task(*id).is_ok_and(|task| task.phase.is_at_rest()));
        let satisfied = match wait.mode {
            WaitMode::Any => wait.on.is_empty() || rests.any(|rests| rests),
            WaitMode::All => rests.all(|rests| rests),
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

    /// Whether `from` is `target`, is above it, or waits for it through any number of others.
    fn waits_for(&self, from: TaskId, target: TaskId) -> bool {
        if self.state.lineage(target).any(|task| task.id == from) {
            return true;
        }
        let mut seen = BTreeSet::from([from]);
        let mut next = vec![from];
        while let Some(id) = next.pop() {
            let waits = self.state.tasks.get(&id).into_iter().flat_map(|task| task.work.waits());
            for on in waits.flat_map(|(_, wait)| &wait.on) {
                if *on == target {
                    return true;
                }
                if seen.insert(*on) {
                    next.push(*on);
                }
            }
        }
        false
    }
}
