//! Lookup tables over all tasks: which are busy, hold a slot or wait for one, which alarms are set, which tasks wait
//! for which, and which asks are open.
//!
//! A task keeps its position in a queue unless its state changes, and updates are incremental: a task that waits for
//! thousands of others is not indexed again for each piece of mail.

use std::sync::Arc;

use protocol::{CallId, TaskId, Timestamp};

use crate::evolve::InvalidEvent;
use crate::state::KernelState;
use crate::{ActivationWork, CallPhase, KernelTask, SlotStatus, TaskPhase};

/// The reason for an alarm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// A parked task may resume.
    Parking,
    /// The lease of a run expires.
    Lease,
    /// The time for a last turn is over.
    Grace,
    /// Delayed results are to be delivered.
    Results,
    /// A call times out.
    Call(CallId),
}

impl KernelState {
    /// Changes a task and its index entries. The change must not affect its calls.
    pub(crate) fn update(
        &mut self,
        id: TaskId,
        change: impl FnOnce(&mut KernelTask) -> Result<(), InvalidEvent>,
    ) -> Result<(), InvalidEvent> {
        let task = self.tasks.get_mut(&id).ok_or(InvalidEvent::UnknownTask(id))?;
        let before = TaskIndexEntry::of(task);
        change(task)?;
        let after = TaskIndexEntry::of(task);
        let agent_type = Arc::clone(&task.agent);
        self.reindex(id, &agent_type, before, after);
        if before.running != after.running {
            self.reindex_asks(id);
        }
        Ok(())
    }

    /// Like [`KernelState::update`], for a change that may also affect the task's calls.
    pub(crate) fn update_work(
        &mut self,
        id: TaskId,
        change: impl FnOnce(&mut KernelTask) -> Result<(), InvalidEvent>,
    ) -> Result<(), InvalidEvent> {
        for (call, phase) in self.waiting_calls(id) {
            self.unindex_call(id, &call, &phase);
        }
        let changed = self.update(id, change);
        for (call, phase) in self.waiting_calls(id) {
            self.index_call(id, &call, &phase);
        }
        changed
    }

    /// Sets the phase of one call, and updates the task's slot status.
    pub(crate) fn set_call_phase(&mut self, id: TaskId, call: &CallId, to: CallPhase) -> Result<(), InvalidEvent> {
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

    /// Adds a task that its parent, if any, already lists as a child.
    pub(crate) fn insert(&mut self, task: KernelTask) {
        let (id, agent_type, entry) = (task.id, Arc::clone(&task.agent), TaskIndexEntry::of(&task));
        self.tasks.insert(task);
        self.reindex(id, &agent_type, TaskIndexEntry::NONE, entry);
    }

    /// The calls of a task that wait for other tasks or for a decision. Only these are indexed.
    fn waiting_calls(&self, id: TaskId) -> Vec<(CallId, CallPhase)> {
        let Some(ActivationWork::CallingTools(calls)) = self.tasks.get(&id).map(|task| &task.work) else {
            return Vec::new();
        };
        let is_waiting = |phase: &CallPhase| matches!(phase, CallPhase::Waiting(_) | CallPhase::Asking(_));
        calls.iter().filter(|(_, phase)| is_waiting(phase)).map(|(call, phase)| (call.clone(), phase.clone())).collect()
    }

    fn reindex(&mut self, id: TaskId, agent_type: &Arc<str>, before: TaskIndexEntry, after: TaskIndexEntry) {
        self.busy -= usize::from(before.busy);
        self.busy += usize::from(after.busy);
        self.agents_at_work -= usize::from(before.at_work);
        self.agents_at_work += usize::from(after.at_work);
        self.parked -= usize::from(before.parked);
        self.parked += usize::from(after.parked);
        self.active -= usize::from(before.active);
        self.active += usize::from(after.active);
        if before.at_work != after.at_work
            && let Some(parent) = self.tasks.get(&id).and_then(|task| task.parent)
            && let Some(parent) = self.tasks.get_mut(&parent)
        {
            parent.agents_at_work = parent.agents_at_work - u32::from(before.at_work) + u32::from(after.at_work);
        }
        if before.slot != after.slot {
            match before.slot {
                SlotPlace::Nowhere => {}
                SlotPlace::Holding => self.slots.give_back(agent_type),
                SlotPlace::Returning => self.slots.returning.leave(id, agent_type),
                SlotPlace::Starting => self.slots.starting.leave(id, agent_type),
            }
            match after.slot {
                SlotPlace::Nowhere => {}
                SlotPlace::Holding => self.slots.take(agent_type),
                SlotPlace::Returning => self.slots.returning.join(id, agent_type),
                SlotPlace::Starting => self.slots.starting.join(id, agent_type),
            }
        }
        for (was, is, alarm) in [
            (before.parking, after.parking, Alarm::Parking),
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
                for awaited in &wait.awaited {
                    self.waiters.entry(*awaited).or_default().insert((id, call.clone()));
                }
                self.set_alarm(id, wait.until, Alarm::Call(call.clone()));
            }
            CallPhase::Asking(ask) => {
                self.asks.insert(ask.id.clone(), id);
                // The deadline counts only while the task runs: after a change of owner, decisions made meanwhile are
                // applied before the task resumes.
                let is_running = self.tasks.get(&id).is_some_and(KernelTask::is_running);
                self.set_alarm(id, ask.until_at.filter(|_| is_running), Alarm::Call(call.clone()));
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
                for awaited in &wait.awaited {
                    if let Some(calls) = self.waiters.get_mut(awaited) {
                        calls.remove(&(id, call.clone()));
                        if calls.is_empty() {
                            self.waiters.remove(awaited);
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

    /// Resets the alarms of a task's asks after it started or stopped running.
    fn reindex_asks(&mut self, id: TaskId) {
        for (call, phase) in self.waiting_calls(id) {
            if matches!(phase, CallPhase::Asking(_)) {
                self.unindex_call(id, &call, &phase);
                self.index_call(id, &call, &phase);
            }
        }
    }

    /// Removes the wake-up times of all tasks, for a session that is stopping and starts nothing new.
    pub(crate) fn clear_wake_times(&mut self) {
        for task in self.tasks.filter_mut(|task| task.wake_at.is_some()) {
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

/// The index entry of a task, without its calls.
#[derive(Clone, Copy)]
struct TaskIndexEntry {
    /// Queued, running or parked.
    busy: bool,
    /// An agent whose activation is not over.
    at_work: bool,
    parked: bool,
    /// See [`is_active`].
    active: bool,
    running: bool,
    slot: SlotPlace,
    /// When [`Alarm::Quota`] is due, if it is set; the other alarms likewise.
    parking: Option<Timestamp>,
    lease: Option<Timestamp>,
    grace: Option<Timestamp>,
    results: Option<Timestamp>,
}

/// Whether a task holds a slot or waits in one of the two queues for slots.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotPlace {
    Nowhere,
    Holding,
    /// In the queue of agents whose wait for other tasks is over.
    Returning,
    /// In the queue of agents that start or resume an activation.
    Starting,
}

impl TaskIndexEntry {
    const NONE: TaskIndexEntry = TaskIndexEntry {
        busy: false,
        at_work: false,
        parked: false,
        active: false,
        running: false,
        slot: SlotPlace::Nowhere,
        parking: None,
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
        // The time for a last turn also runs out for queued and parked tasks, but not for interrupted ones.
        let grace = task.cancel_until.filter(|_| task.phase.is_busy());
        let is_agent = task.kind.is_agent();
        TaskIndexEntry {
            busy: task.phase.is_busy() && task.kind.keeps_session_busy(),
            at_work: is_agent && !task.phase.is_at_rest(),
            parked: is_agent && matches!(task.phase, TaskPhase::Parked(_)),
            active: is_agent && is_active(task),
            running: task.is_running(),
            slot: SlotPlace::of(task),
            parking: quota,
            lease: task.lease,
            grace,
            results: task.wake_at,
        }
    }
}

/// Whether a task is known to make progress: it is queued, holds a slot, or waits to get its slot back. The root needs
/// no slot, so its phase does not show whether it waits; [`KernelState::parked()`] checks its calls instead.
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
            TaskPhase::Queued(_) => SlotPlace::Starting,
            TaskPhase::Running(SlotStatus::Holding) => SlotPlace::Holding,
            TaskPhase::Running(SlotStatus::Returning) => SlotPlace::Returning,
            TaskPhase::Running(SlotStatus::Lent)
            | TaskPhase::Idle
            | TaskPhase::Parked(_)
            | TaskPhase::Interrupted
            | TaskPhase::Finished(_) => SlotPlace::Nowhere,
        }
    }
}
