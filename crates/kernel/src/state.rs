//! The state of a session: its tasks, and the indexes that follow from them.
//!
//! Only [`State::update`] changes a task, and it keeps every index in step: the count of busy tasks, the
//! slots and lines, the alarms, and who waits for whom.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use protocol::{AskId, At, CallId, DefinitionId, Fence, TaskId};

use crate::evolve::Impossible;
use crate::slots::Slots;
use crate::{CallPhase, Footing, Memory, Phase, Task};

/// Everything the kernel knows of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub(crate) tasks: BTreeMap<TaskId, Task>,
    pub(crate) root: Option<TaskId>,
    pub(crate) fence: Fence,
    pub(crate) admission: Admission,
    pub(crate) next_mail: u64,
    /// Agents ever started.
    pub(crate) started: u32,
    /// When agents below the root started others, within the last minute of the log.
    pub(crate) recent: VecDeque<At>,
    /// Definitions that the log holds.
    pub(crate) defined: BTreeSet<DefinitionId>,
    /// How much memory the machine has left; not durable.
    pub(crate) memory: Memory,
    /// How many agents of each definition hold a slot.
    pub(crate) live_of: BTreeMap<Arc<str>, u32>,
    pub(crate) busy: usize,
    pub(crate) slots: Slots,
    /// When a task has something to do, and how many of its calls and dates say so.
    pub(crate) alarms: BTreeMap<(At, TaskId), usize>,
    /// For each awaited task, the calls that wait for it.
    pub(crate) waiters: BTreeMap<TaskId, BTreeSet<(TaskId, CallId)>>,
    /// For each open ask, the task whose call waits.
    pub(crate) asks: BTreeMap<AskId, TaskId>,
}

/// Whether the session takes new tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Admission {
    #[default]
    Open,
    Closed,
}

impl State {
    /// Changes a task and brings every index in step.
    pub(crate) fn update(
        &mut self,
        id: TaskId,
        change: impl FnOnce(&mut Task) -> Result<(), Impossible>,
    ) -> Result<(), Impossible> {
        self.update_part(id, Part::Whole, change)
    }

    /// The same for a change of one call. It looks at no other: a task may wait for thousands.
    pub(crate) fn update_call(
        &mut self,
        id: TaskId,
        call: &CallId,
        change: impl FnOnce(&mut Task) -> Result<(), Impossible>,
    ) -> Result<(), Impossible> {
        self.update_part(id, Part::Call(call), change)
    }

    fn update_part(
        &mut self,
        id: TaskId,
        part: Part<'_>,
        change: impl FnOnce(&mut Task) -> Result<(), Impossible>,
    ) -> Result<(), Impossible> {
        let task = self.tasks.get_mut(&id).ok_or(Impossible::NoTask(id))?;
        let before = Marks::of(task, part);
        change(task)?;
        let after = Marks::of(task, part);
        self.unmark(id, before);
        self.mark(id, after);
        Ok(())
    }

    /// Adds a task that its parent, if it has one, is known to have.
    pub(crate) fn insert(&mut self, task: Task) {
        let (id, marks) = (task.id, Marks::of(&task, Part::Whole));
        self.tasks.insert(id, task);
        self.mark(id, marks);
    }

    /// The task and everything below it, parents before children.
    pub(crate) fn subtree(&self, top: TaskId) -> Vec<TaskId> {
        let mut found = vec![top];
        let mut next = 0;
        while let Some(id) = found.get(next) {
            if let Some(task) = self.tasks.get(id) {
                found.extend(&task.children);
            }
            next += 1;
        }
        found
    }

    /// The task and everything above it, nearest first.
    pub(crate) fn lineage(&self, from: TaskId) -> impl Iterator<Item = &Task> {
        std::iter::successors(self.tasks.get(&from), |task| task.parent.and_then(|id| self.tasks.get(&id)))
    }

    fn unmark(&mut self, id: TaskId, marks: Marks) {
        self.busy -= usize::from(marks.busy);
        match marks.place {
            Place::Nowhere => {}
            Place::Slot => {
                self.slots.held -= 1;
                if let Some(live) = self.live_of.get_mut(&marks.agent) {
                    *live -= 1;
                }
            }
            Place::Returning => self.slots.returning.leave(id),
            Place::Fresh => self.slots.fresh.leave(id),
        }
        for at in marks.alarms {
            if let Entry::Occupied(mut alarm) = self.alarms.entry((at, id)) {
                *alarm.get_mut() -= 1;
                if *alarm.get() == 0 {
                    alarm.remove();
                }
            }
        }
        for ask in marks.asks {
            self.asks.remove(&ask);
        }
        for (target, call) in marks.waits {
            if let Some(calls) = self.waiters.get_mut(&target) {
                calls.remove(&(id, call));
                if calls.is_empty() {
                    self.waiters.remove(&target);
                }
            }
        }
    }

    fn mark(&mut self, id: TaskId, marks: Marks) {
        self.busy += usize::from(marks.busy);
        match marks.place {
            Place::Nowhere => {}
            Place::Slot => {
                self.slots.held += 1;
                *self.live_of.entry(marks.agent).or_default() += 1;
            }
            Place::Returning => self.slots.returning.join(id),
            Place::Fresh => self.slots.fresh.join(id),
        }
        for at in marks.alarms {
            *self.alarms.entry((at, id)).or_default() += 1;
        }
        self.asks.extend(marks.asks.into_iter().map(|ask| (ask, id)));
        for (target, call) in marks.waits {
            self.waiters.entry(target).or_default().insert((id, call));
        }
    }
}

/// What of a task a change is about.
#[derive(Clone, Copy)]
enum Part<'a> {
    Whole,
    /// One call, and where the task stands.
    Call(&'a CallId),
}

/// What the indexes hold of one task, or of a part of it.
struct Marks {
    busy: bool,
    place: Place,
    alarms: Vec<At>,
    waits: Vec<(TaskId, CallId)>,
    asks: Vec<AskId>,
    agent: Arc<str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Slot,
    Returning,
    Fresh,
}

impl Marks {
    fn of(task: &Task, part: Part<'_>) -> Marks {
        let mut marks = Marks {
            busy: task.phase.is_busy(),
            place: Place::of(task),
            alarms: Vec::new(),
            waits: Vec::new(),
            asks: Vec::new(),
            agent: Arc::clone(&task.agent),
        };
        match part {
            Part::Whole => {
                let stops = task.cancel_until.filter(|_| task.is_running());
                marks.alarms.extend(parked(task).into_iter().chain(task.lease).chain(stops));
                task.work.calls().for_each(|(call, phase)| marks.add(task, call, phase));
            }
            Part::Call(call) => task.work.call(call).into_iter().for_each(|phase| marks.add(task, call, phase)),
        }
        marks
    }

    fn add(&mut self, task: &Task, call: &CallId, phase: &CallPhase) {
        match phase {
            CallPhase::Waiting(wait) => {
                self.alarms.extend(wait.until);
                self.waits.extend(wait.on.iter().map(|on| (*on, call.clone())));
            }
            CallPhase::Asking(ask) => {
                // Without an owner nobody could be asked: what was decided meanwhile comes before the deadline.
                self.alarms.extend(ask.until_at.filter(|_| task.is_running()));
                self.asks.push(ask.id.clone());
            }
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Waited { .. }
            | CallPhase::Decided(_)
            | CallPhase::Answered => {}
        }
    }
}

fn parked(task: &Task) -> Option<At> {
    match task.phase {
        Phase::Parked(until) => Some(until),
        Phase::Queued(_) | Phase::Running(_) | Phase::Idle | Phase::Interrupted | Phase::Finished(_) => None,
    }
}

impl Place {
    fn of(task: &Task) -> Place {
        if !task.needs_slot() {
            return Place::Nowhere;
        }
        match task.phase {
            Phase::Queued(_) => Place::Fresh,
            Phase::Running(Footing::Slot) => Place::Slot,
            Phase::Running(Footing::Returning) => Place::Returning,
            Phase::Running(Footing::Lent)
            | Phase::Idle
            | Phase::Parked(_)
            | Phase::Interrupted
            | Phase::Finished(_) => Place::Nowhere,
        }
    }
}
