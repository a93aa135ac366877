//! The state of a session: its tasks, and what follows from them. `index.rs` keeps the one in step with the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use protocol::{AskId, At, CallId, DefinitionId, Fence, TaskId};

use crate::index::Alarm;
use crate::slots::Slots;
use crate::{Memory, Task};

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
    /// When agents below the root started others, within the last minute of the log, in order.
    pub(crate) recent: VecDeque<At>,
    /// Definitions that the log holds.
    pub(crate) defined: BTreeSet<DefinitionId>,
    /// How much memory the machine has left; not durable.
    pub(crate) memory: Memory,
    pub(crate) busy: usize,
    pub(crate) slots: Slots,
    pub(crate) alarms: BTreeSet<(At, TaskId, Alarm)>,
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
}
