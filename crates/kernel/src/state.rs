//! The state of a session: its tasks, and lookup tables over them, which `index.rs` keeps up to date.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use protocol::{AskId, CallId, DefinitionId, ExternalTaskId, Fence, TaskId, Timestamp, TodoId};

use crate::calibration::TokenCalibration;
use crate::graph::TodoGraph;
use crate::index::Alarm;
use crate::root_control::RootControl;
use crate::slots::Slots;
use crate::tasks::KernelTasks;
use crate::{KernelTask, MemoryPressure, SessionLimits};

/// Everything the kernel knows about a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelState {
    pub(crate) tasks: KernelTasks,
    pub(crate) root: Option<TaskId>,
    pub(crate) fence: Fence,
    pub(crate) admission: SessionAdmission,
    pub(crate) next_mail: u64,
    /// How many agents the session has started.
    pub(crate) started_agents: u32,
    /// When subagents started others, within the last minute of the log, in order.
    pub(crate) recent_spawns: VecDeque<Timestamp>,
    /// Definitions that the log holds.
    pub(crate) definitions: BTreeSet<DefinitionId>,
    /// How much memory the machine has left; not durable.
    pub(crate) memory: MemoryPressure,
    /// What was learnt about how models count tokens.
    pub(crate) calibration: TokenCalibration,
    /// Maximum turns that all agents together may take for one prompt of the user.
    pub(crate) max_turns: Option<u32>,
    /// How many turns they have taken since the user's last prompt.
    pub(crate) turns: u32,
    /// How many tasks are queued, running or parked.
    pub(crate) busy: usize,
    /// How many agents are parked.
    pub(crate) parked: usize,
    /// How many agents are known to make progress.
    pub(crate) active: usize,
    /// How many agents, including the root, have an activation that is queued, running, parked or interrupted.
    pub(crate) agents_at_work: usize,
    /// The session's mode, and the progress of the root's objective.
    pub(crate) root_control: RootControl,
    pub(crate) slots: Slots,
    pub(crate) alarms: BTreeSet<(Timestamp, TaskId, Alarm)>,
    /// For each awaited task, the calls that wait for it.
    pub(crate) waiters: BTreeMap<TaskId, BTreeSet<(TaskId, CallId)>>,
    /// The todos.
    pub(crate) graph: TodoGraph,
    /// How many events may have changed the next step of a fleet.
    pub(crate) fleet_changes: u64,
    /// For each open ask, the task whose call waits.
    pub(crate) asks: BTreeMap<AskId, TaskId>,
}

/// Whether the session accepts new tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SessionAdmission {
    #[default]
    Open,
    Closed,
}

impl KernelState {
    /// The task and everything below it, parents before children.
    pub(crate) fn subtree(&self, top: TaskId) -> Vec<TaskId> {
        let mut tasks = vec![top];
        let mut next = 0;
        while let Some(id) = tasks.get(next) {
            if let Some(task) = self.tasks.get(id) {
                tasks.extend(&task.children);
            }
            next += 1;
        }
        tasks
    }

    /// The task and everything above it, nearest first.
    pub(crate) fn lineage(&self, from: TaskId) -> impl Iterator<Item = &KernelTask> {
        std::iter::successors(self.tasks.get(&from), |task| task.parent.and_then(|id| self.tasks.get(&id)))
    }

    /// The external tasks, which the root starts, except those that were removed.
    pub(crate) fn external_tasks(&self) -> impl Iterator<Item = &KernelTask> {
        let root = self.root.and_then(|root| self.tasks.get(&root));
        let children = root.into_iter().flat_map(|root| &root.children).filter_map(|id| self.tasks.get(id));
        children.filter(|task| task.external.is_some() && !task.forgotten)
    }

    /// The external task with this name, unless it was removed.
    pub(crate) fn external_task(&self, id: &ExternalTaskId) -> Option<&KernelTask> {
        let has_name = |task: &&KernelTask| task.external.as_deref().is_some_and(|report| report.spec.id == *id);
        self.external_tasks().find(has_name)
    }

    /// The ready todos that there is room for, after the tasks that are already queued.
    pub(crate) fn due_todos(&self, limits: &SessionLimits, default_agent: &str) -> Vec<TodoId> {
        let Some(config) = self.graph.fleet() else { return Vec::new() };
        let stopping = self.root.and_then(|root| self.tasks.get(&root)).is_none_or(|root| root.cancel.is_some());
        if self.admission == SessionAdmission::Closed || stopping {
            return Vec::new();
        }
        let queued = self.slots.returning.len() + self.slots.starting.len();
        let free_slots = (limits.live.max(1) as usize).saturating_sub(self.slots.held as usize + queued);
        let claims_left = config.parallel.map_or(usize::MAX, |cap| cap.saturating_sub(self.graph.claimed()) as usize);
        let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
        let has_room = |agent_type: &str, taken: u32| {
            limits
                .max_by_type
                .get(agent_type)
                .is_none_or(|cap| self.slots.held_or_queued_by(agent_type) + taken < (*cap).max(1))
        };
        let due = self.graph.ready().filter_map(|(id, node)| {
            let agent_type = node.agent.as_deref().unwrap_or(default_agent);
            let count = taken.entry(agent_type).or_default();
            has_room(agent_type, *count).then(|| {
                *count += 1;
                id.clone()
            })
        });
        due.take(free_slots.min(claims_left)).collect()
    }
}
