//! What can be looked up about tasks without looking at each: who is busy, who holds a slot or stands in line, which
//! alarms are set, who waits for whom, and what a person is asked.
//!
//! A change that leaves a task's place as it was leaves its place in line, and no change costs more than what it
//! concerns: a task that waits for thousands is not read anew for each piece of mail.

use std::sync::Arc;

use protocol::{CallId, TaskId, TaskType, Timestamp};

use crate::evolve::InvalidEvent;
use crate::state::KernelState;
use crate::{ActivationWork, CallPhase, KernelTask, SlotStatus, TaskPhase};

/// What an alarm is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// A quota resets.
    Quota,
    /// A holder must have shown itself.
    Lease,
    /// A last turn must be over.
    Grace,
    /// Results have waited for each other long enough.
    Results,
    /// A call gives up.
    Call(CallId),
}

impl KernelState {
    /// Changes a task and everything that is looked up of it. The change leaves its calls alone.
    pub(crate) fn update(
        &mut self,
        id: TaskId,
        change: impl FnOnce(&mut KernelTask) -> Result<(), InvalidEvent>,
    ) -> Result<(), InvalidEvent> {
        let task = self.tasks.get_mut(&id).ok_or(InvalidEvent::UnknownTask(id))?;
        let before = TaskIndexEntry::of(task);
        change(task)?;
        let after = TaskIndexEntry::of(task);
        let kind = Arc::clone(&task.agent);
        self.reindex(id, &kind, before, after);
        if before.runs != after.runs {
            self.reindex_asks(id);
        }
        Ok(())
    }

    /// The same for a change that replaces what the task works on.
    pub(crate) fn update_work(
        &mut self,
        id: TaskId,
        change: impl FnOnce(&mut KernelTask) -> Result<(), InvalidEvent>,
    ) -> Result<(), InvalidEvent> {
        for (call, phase) in self.open_calls(id) {
            self.unindex_call(id, &call, &phase);
        }
        let changed = self.update(id, change);
        for (call, phase) in self.open_calls(id) {
            self.index_call(id, &call, &phase);
        }
        changed
    }

    /// Moves one call, and the task's footing with it.
    pub(crate) fn move_call(&mut self, id: TaskId, call: &CallId, to: CallPhase) -> Result<(), InvalidEvent> {
        let mut from = None;
        self.update(id, |task| {
            from = Some(task.replace_call(call, to.clone())?);
            task.update_slot_status()
        })?;
        if let Some(from) = from {
            self.unindex_call(id, call, &from);
        }
        self.index_call(id, call, &to);
        Ok(())
    }

    /// Adds a task that its parent, if it has one, is known to have.
    pub(crate) fn insert(&mut self, task: KernelTask) {
        let (id, kind, marks) = (task.id, Arc::clone(&task.agent), TaskIndexEntry::of(&task));
        self.tasks.insert(task);
        self.reindex(id, &kind, TaskIndexEntry::NONE, marks);
    }

    /// The calls of a task that are looked up: those that wait.
    fn open_calls(&self, id: TaskId) -> Vec<(CallId, CallPhase)> {
        let Some(ActivationWork::Acting(calls)) = self.tasks.get(&id).map(|task| &task.work) else { return Vec::new() };
        let waits = |phase: &CallPhase| matches!(phase, CallPhase::Waiting(_) | CallPhase::Asking(_));
        calls.iter().filter(|(_, phase)| waits(phase)).map(|(call, phase)| (call.clone(), phase.clone())).collect()
    }

    fn reindex(&mut self, id: TaskId, kind: &Arc<str>, before: TaskIndexEntry, after: TaskIndexEntry) {
        self.busy -= usize::from(before.busy);
        self.busy += usize::from(after.busy);
        self.at_work -= usize::from(before.works);
        self.at_work += usize::from(after.works);
        self.parked -= usize::from(before.parked);
        self.parked += usize::from(after.parked);
        self.active -= usize::from(before.active);
        self.active += usize::from(after.active);
        if before.works != after.works
            && let Some(parent) = self.tasks.get(&id).and_then(|task| task.parent)
            && let Some(parent) = self.tasks.get_mut(&parent)
        {
            parent.at_work = parent.at_work - u32::from(before.works) + u32::from(after.works);
        }
        if before.slot != after.slot {
            match before.slot {
                SlotPlace::Nowhere => {}
                SlotPlace::Slot => self.slots.give_back(kind),
                SlotPlace::Returning => self.slots.returning.leave(id, kind),
                SlotPlace::Fresh => self.slots.fresh.leave(id, kind),
            }
            match after.slot {
                SlotPlace::Nowhere => {}
                SlotPlace::Slot => self.slots.take(kind),
                SlotPlace::Returning => self.slots.returning.join(id, kind),
                SlotPlace::Fresh => self.slots.fresh.join(id, kind),
            }
        }
        for (was, is, alarm) in [
            (before.quota, after.quota, Alarm::Quota),
            (before.lease, after.lease, Alarm::Lease),
            (before.grace, after.grace, Alarm::Grace),
            (before.results, after.results, Alarm::Results),
        ] {
            if was != is {
                self.unset_alarm(id, was, alarm.clone());
                self.set_alarm(id, is, alarm);
            }
        }
    }

    fn index_call(&mut self, id: TaskId, call: &CallId, phase: &CallPhase) {
        match phase {
            CallPhase::Waiting(wait) => {
                for on in &wait.on {
                    self.waiters.entry(*on).or_default().insert((id, call.clone()));
                }
                self.set_alarm(id, wait.until, Alarm::Call(call.clone()));
            }
            CallPhase::Asking(ask) => {
                self.asks.insert(ask.id.clone(), id);
                // Without an owner nobody could be asked: what was decided meanwhile comes before the deadline.
                let runs = self.tasks.get(&id).is_some_and(KernelTask::is_running);
                self.set_alarm(id, ask.until_at.filter(|_| runs), Alarm::Call(call.clone()));
            }
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Waited { .. }
            | CallPhase::Decided(_)
            | CallPhase::Answered => {}
        }
    }

    fn unindex_call(&mut self, id: TaskId, call: &CallId, phase: &CallPhase) {
        match phase {
            CallPhase::Waiting(wait) => {
                for on in &wait.on {
                    if let Some(calls) = self.waiters.get_mut(on) {
                        calls.remove(&(id, call.clone()));
                        if calls.is_empty() {
                            self.waiters.remove(on);
                        }
                    }
                }
                self.unset_alarm(id, wait.until, Alarm::Call(call.clone()));
            }
            CallPhase::Asking(ask) => {
                self.asks.remove(&ask.id);
                self.unset_alarm(id, ask.until_at, Alarm::Call(call.clone()));
            }
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Waited { .. }
            | CallPhase::Decided(_)
            | CallPhase::Answered => {}
        }
    }

    /// Sets the alarms of what a task asks anew, since it began or ceased to run.
    fn reindex_asks(&mut self, id: TaskId) {
        for (call, phase) in self.open_calls(id) {
            if matches!(phase, CallPhase::Asking(_)) {
                self.unindex_call(id, &call, &phase);
                self.index_call(id, &call, &phase);
            }
        }
    }

    /// Nobody wakes by itself while nothing may start.
    pub(crate) fn keep_asleep(&mut self) {
        for task in self.tasks.some_mut(|task| task.wake_at.is_some()) {
            if let Some(at) = task.wake_at.take() {
                self.alarms.remove(&(at, task.id, Alarm::Results));
            }
        }
    }

    fn set_alarm(&mut self, id: TaskId, at: Option<Timestamp>, alarm: Alarm) {
        self.alarms.extend(at.map(|at| (at, id, alarm)));
    }

    fn unset_alarm(&mut self, id: TaskId, at: Option<Timestamp>, alarm: Alarm) {
        if let Some(at) = at {
            self.alarms.remove(&(at, id, alarm));
        }
    }
}

/// What is looked up of a task besides its calls.
#[derive(Clone, Copy)]
struct TaskIndexEntry {
    busy: bool,
    works: bool,
    parked: bool,
    active: bool,
    runs: bool,
    slot: SlotPlace,
    quota: Option<Timestamp>,
    lease: Option<Timestamp>,
    grace: Option<Timestamp>,
    results: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotPlace {
    Nowhere,
    Slot,
    Returning,
    Fresh,
}

impl TaskIndexEntry {
    const NONE: TaskIndexEntry = TaskIndexEntry {
        busy: false,
        works: false,
        parked: false,
        active: false,
        runs: false,
        slot: SlotPlace::Nowhere,
        quota: None,
        lease: None,
        grace: None,
        results: None,
    };

    fn of(task: &KernelTask) -> TaskIndexEntry {
        let quota = match task.phase {
            TaskPhase::Parked(parking) => parking.until,
            TaskPhase::Queued(_)
            | TaskPhase::Running(_)
            | TaskPhase::Idle
            | TaskPhase::Interrupted
            | TaskPhase::Finished(_) => None,
        };
        let busy = task.phase.is_busy();
        // A last turn needs an owner; whoever queues or is parked before it has no more time for that.
        let grace = task.cancel_until.filter(|_| busy);
        let agent = task.kind != TaskType::Shell;
        TaskIndexEntry {
            busy,
            works: agent && !task.phase.is_at_rest(),
            parked: agent && matches!(task.phase, TaskPhase::Parked(_)),
            active: agent && is_active(task),
            runs: task.is_running(),
            slot: SlotPlace::of(task),
            quota,
            lease: task.lease,
            grace,
            results: task.wake_at,
        }
    }
}

/// Whether a task surely goes on by itself. The root has no slot to lend, so whether it waits is looked at when nobody
/// else is active.
fn is_active(task: &KernelTask) -> bool {
    match task.phase {
        TaskPhase::Queued(_) => true,
        TaskPhase::Running(SlotStatus::Holding | SlotStatus::Returning) => task.needs_slot(),
        TaskPhase::Running(SlotStatus::Lent)
        | TaskPhase::Idle
        | TaskPhase::Parked(_)
        | TaskPhase::Interrupted
        | TaskPhase::Finished(_) => false,
    }
}

impl SlotPlace {
    fn of(task: &KernelTask) -> SlotPlace {
        if !task.needs_slot() {
            return SlotPlace::Nowhere;
        }
        match task.phase {
            TaskPhase::Queued(_) => SlotPlace::Fresh,
            TaskPhase::Running(SlotStatus::Holding) => SlotPlace::Slot,
            TaskPhase::Running(SlotStatus::Returning) => SlotPlace::Returning,
            TaskPhase::Running(SlotStatus::Lent)
            | TaskPhase::Idle
            | TaskPhase::Parked(_)
            | TaskPhase::Interrupted
            | TaskPhase::Finished(_) => SlotPlace::Nowhere,
        }
    }
}
