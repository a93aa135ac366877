//! The state of a session: its tasks, and the indexes that follow from them.
//!
//! Only [`State::update`] changes a task, and it keeps every index in step: the count of busy tasks, the
//! slots and lines, the alarms, and who waits for whom.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use protocol::{AskId, At, CallId, DefinitionId, Fence, TaskId};

use crate::evolve::Impossible;
use crate::slots::Slots;
use crate::{Footing, Memory, Phase, Task};

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
    pub(crate) alarms: BTreeSet<(At, TaskId)>,
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
        let task = self.tasks.get_mut(&id).ok_or(Impossible::NoTask(id))?;
        let before = Marks::of(task);
        change(task)?;
        let after = Marks::of(task);
        self.unmark(id, before);
        self.mark(id, after);
        Ok(())
    }

    /// Adds a task that its parent, if it has one, is known to have.
    pub(crate) fn insert(&mut self, task: Task) {
        let (id, marks) = (task.id, Marks::of(&task));
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
            self.alarms.remove(&(at, id));
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
        self.alarms.extend(marks.alarms.into_iter().map(|at| (at, id)));
        self.asks.extend(marks.asks.into_iter().map(|ask| (ask, id)));
        for (target, call) in marks.waits {
            self.waiters.entry(target).or_default().insert((id, call));
        }
    }
}

/// What the indexes hold of one task.
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
    fn of(task: &Task) -> Marks {
        let parked = match task.phase {
            Phase::Parked(until) => Some(until),
            Phase::Queued(_) | Phase::Running(_) | Phase::Idle | Phase::Interrupted | Phase::Finished(_) => None,
        };
        let waits = || task.work.waits();
        // Without an owner nobody could be asked: what was decided meanwhile comes before the deadline.
        let asked = task.work.asks().filter(|_| task.is_running()).filter_map(|ask| ask.until_at);
        let stops = task.cancel_until.filter(|_| task.is_running());
        let deadlines = waits().filter_map(|(_, wait)| wait.until).chain(asked);
        Marks {
            busy: task.phase.is_busy(),
            place: Place::of(task),
            alarms: parked.into_iter().chain(task.lease).chain(stops).chain(deadlines).collect(),
            waits: waits().flat_map(|(call, wait)| wait.on.iter().map(|on| (*on, call.clone()))).collect(),
            asks: task.work.asks().map(|ask| ask.id.clone()).collect(),
            agent: Arc::clone(&task.agent),
        }
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
