//! The graph of todos: dependencies, progress, and which todos can be worked on now.
//!
//! The set of ready todos is maintained, not searched for: the cost of a change does not depend on the graph's size.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use protocol::{BlockReason, FleetConfig, TaskId, Todo, TodoId, TodoStatus};

/// The todos of a session, and the fleet that works through them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TodoGraph {
    nodes: BTreeMap<TodoId, TodoNode>,
    /// The dependents of each todo that is named as a dependency, whether or not it exists.
    dependents: BTreeMap<TodoId, BTreeSet<TodoId>>,
    /// The todos that can be worked on now, in the order they were written.
    ready: BTreeSet<(u64, TodoId)>,
    /// The fleet's configuration; none while no fleet is working.
    pub(crate) fleet: Option<FleetConfig>,
    /// How many todos are claimed.
    pub(crate) claimed: u32,
    /// The number of the latest claim.
    pub(crate) fence: u64,
    /// The latest [`TodoNode::order`].
    last_order: u64,
}

/// What the kernel knows about one todo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoNode {
    /// Its position in the order in which todos were written.
    pub order: u64,
    /// What it depends on.
    pub depends_on: BTreeSet<TodoId>,
    /// How many of its dependencies are not done.
    open_dependencies: usize,
    /// The agent type that should do it.
    pub agent: Option<Arc<str>>,
    /// Its progress.
    pub progress: TodoProgress,
    /// How often it failed since it was last reset.
    pub failures: u32,
}

/// The progress of a todo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TodoProgress {
    /// No task works on it.
    Pending,
    /// The table says that it is in progress, but the runtime knows of no task.
    Reported,
    /// A task has claimed it.
    Claimed {
        /// The task.
        task: TaskId,
        /// The number of the claim.
        fence: u64,
    },
    /// It is done.
    Done,
    /// It cannot be done at present.
    Blocked(BlockReason),
}

impl TodoProgress {
    /// The status that the table shows.
    pub fn status(&self) -> TodoStatus {
        match self {
            TodoProgress::Pending => TodoStatus::Pending,
            TodoProgress::Reported | TodoProgress::Claimed { .. } => TodoStatus::InProgress,
            TodoProgress::Done => TodoStatus::Done,
            TodoProgress::Blocked(_) => TodoStatus::Blocked,
        }
    }

    fn from_row(todo: &Todo) -> TodoProgress {
        match todo.status {
            TodoStatus::Pending => TodoProgress::Pending,
            TodoStatus::InProgress => TodoProgress::Reported,
            TodoStatus::Done => TodoProgress::Done,
            TodoStatus::Blocked => {
                let reason = todo.reason.clone().unwrap_or_else(|| "no reason given".into());
                TodoProgress::Blocked(BlockReason::Itself { reason })
            }
        }
    }
}

impl TodoGraph {
    /// One todo.
    pub fn node(&self, id: &TodoId) -> Option<&TodoNode> {
        self.nodes.get(id)
    }

    /// Every todo, in the order of their ids.
    pub fn nodes(&self) -> impl Iterator<Item = (&TodoId, &TodoNode)> {
        self.nodes.iter()
    }

    /// The fleet's configuration, while one is working.
    pub fn fleet(&self) -> Option<&FleetConfig> {
        self.fleet.as_ref()
    }

    /// The todos that can be worked on now, in the order they were written.
    pub fn ready(&self) -> impl Iterator<Item = (&TodoId, &TodoNode)> {
        self.ready.iter().filter_map(|(_, id)| Some((id, self.nodes.get(id)?)))
    }

    /// How many todos are claimed by a task.
    pub fn claimed(&self) -> u32 {
        self.claimed
    }

    /// The dependents of a todo.
    pub(crate) fn dependents(&self, id: &TodoId) -> impl Iterator<Item = &TodoId> {
        self.dependents.get(id).into_iter().flatten()
    }

    /// Whether a todo can be worked on now.
    pub(crate) fn is_ready(&self, id: &TodoId) -> bool {
        self.nodes.get(id).is_some_and(|node| node.is_ready())
    }

    /// Starts a fleet. Todos that are only reported as in progress become pending.
    pub(crate) fn begin_fleet(&mut self, config: FleetConfig) {
        self.fleet = Some(config);
        let reported = self.nodes.iter().filter(|(_, node)| node.progress == TodoProgress::Reported);
        let reported: Vec<TodoId> = reported.map(|(id, _)| id.clone()).collect();
        reported.iter().for_each(|id| self.set_progress(id, TodoProgress::Pending));
    }

    /// Inserts or updates a todo from its row in the table.
    pub(crate) fn upsert(&mut self, todo: &Todo) {
        let progress = match self.nodes.get(&todo.id).map(|node| &node.progress) {
            // A claim overrides the status in the table. A todo that stays blocked keeps the reason that is known.
            Some(TodoProgress::Claimed { task, fence }) => TodoProgress::Claimed { task: *task, fence: *fence },
            Some(TodoProgress::Blocked(why)) if todo.status == TodoStatus::Blocked => {
                TodoProgress::Blocked(why.clone())
            }
            Some(_) | None => TodoProgress::from_row(todo),
        };
        let (order, failures) = match self.nodes.get(&todo.id) {
            Some(node) => (node.order, if progress == node.progress { node.failures } else { 0 }),
            None => {
                self.last_order += 1;
                (self.last_order, 0)
            }
        };
        self.unlink(&todo.id);
        let depends_on: BTreeSet<TodoId> = todo.depends_on.iter().cloned().collect();
        for dependency in &depends_on {
            self.dependents.entry(dependency.clone()).or_default().insert(todo.id.clone());
        }
        let open_dependencies = depends_on.iter().filter(|dependency| !self.is_done(dependency)).count();
        let agent = todo.agent_type.as_deref().map(Arc::from);
        let was_done = self.nodes.get(&todo.id).is_some_and(|node| node.progress == TodoProgress::Done);
        let is_done = progress == TodoProgress::Done;
        self.nodes
            .insert(todo.id.clone(), TodoNode { order, depends_on, open_dependencies, agent, progress, failures });
        self.update_ready(&todo.id);
        if was_done != is_done {
            self.update_dependents(&todo.id, is_done);
        }
    }

    /// Removes a todo whose row was deleted. Its dependents are not ready until a todo with its id is done.
    pub(crate) fn remove(&mut self, id: &TodoId) {
        self.unlink(id);
        let Some(node) = self.nodes.remove(id) else { return };
        match node.progress {
            TodoProgress::Claimed { .. } => self.claimed -= 1,
            TodoProgress::Done => self.update_dependents(id, false),
            TodoProgress::Pending | TodoProgress::Reported | TodoProgress::Blocked(_) => {}
        }
    }

    /// Sets the progress of a todo.
    pub(crate) fn set_progress(&mut self, id: &TodoId, progress: TodoProgress) {
        let Some(node) = self.nodes.get_mut(id) else { return };
        let previous = std::mem::replace(&mut node.progress, progress.clone());
        self.claimed -= u32::from(matches!(previous, TodoProgress::Claimed { .. }));
        self.claimed += u32::from(matches!(progress, TodoProgress::Claimed { .. }));
        self.update_ready(id);
        if (previous == TodoProgress::Done) != (progress == TodoProgress::Done) {
            self.update_dependents(id, progress == TodoProgress::Done);
        }
    }

    /// Makes a todo pending again, without counted failures.
    pub(crate) fn reset(&mut self, id: &TodoId) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.failures = 0;
        }
        self.set_progress(id, TodoProgress::Pending);
    }

    /// Counts a failure of a todo.
    pub(crate) fn count_failure(&mut self, id: &TodoId) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.failures += 1;
        }
    }

    /// A cycle of todos that depend on each other, if there is one.
    pub fn cycle(&self) -> Option<Vec<TodoId>> {
        // The todos not removed yet, with the number of their dependencies not removed yet.
        let mut remaining: BTreeMap<&TodoId, usize> = BTreeMap::new();
        let mut without_dependencies: Vec<&TodoId> = Vec::new();
        for (id, node) in &self.nodes {
            let count = node.depends_on.iter().filter(|dependency| self.nodes.contains_key(*dependency)).count();
            if count == 0 {
                without_dependencies.push(id);
            } else {
                remaining.insert(id, count);
            }
        }
        while let Some(id) = without_dependencies.pop() {
            for dependent in self.dependents(id) {
                if let Some(count) = remaining.get_mut(dependent) {
                    *count -= 1;
                    if *count == 0 {
                        remaining.remove(dependent);
                        without_dependencies.push(dependent);
                    }
                }
            }
        }
        // Every remaining todo depends on another remaining one, so following dependencies finds a cycle.
        let mut path: Vec<TodoId> = Vec::new();
        let mut current = *remaining.keys().next()?;
        while !path.contains(current) {
            path.push(current.clone());
            current =
                self.nodes.get(current)?.depends_on.iter().find(|dependency| remaining.contains_key(dependency))?;
        }
        let first = path.iter().position(|id| id == current)?;
        Some(path.split_off(first))
    }

    /// A dependency cycle through a todo, if there is one.
    pub(crate) fn cycle_through(&self, from: &TodoId) -> Option<Vec<TodoId>> {
        let mut seen: BTreeSet<&TodoId> = BTreeSet::new();
        let dependencies = |id: &TodoId| self.nodes.get(id).map(|node| node.depends_on.iter());
        let mut path = vec![(from, dependencies(from)?)];
        while let Some((_, unvisited)) = path.last_mut() {
            match unvisited.next() {
                Some(id) if id == from => return Some(path.into_iter().map(|(id, _)| id.clone()).collect()),
                Some(id) if seen.insert(id) => path.extend(dependencies(id).map(|unvisited| (id, unvisited))),
                Some(_) => {}
                None => drop(path.pop()),
            }
        }
        None
    }

    fn is_done(&self, id: &TodoId) -> bool {
        self.nodes.get(id).is_some_and(|node| node.progress == TodoProgress::Done)
    }

    /// Updates the dependents of a todo that became done or is no longer done.
    fn update_dependents(&mut self, id: &TodoId, done: bool) {
        for dependent in self.dependents.get(id).cloned().unwrap_or_default() {
            if let Some(node) = self.nodes.get_mut(&dependent) {
                if done { node.open_dependencies -= 1 } else { node.open_dependencies += 1 }
            }
            self.update_ready(&dependent);
        }
    }

    /// Adds a todo to the ready set or removes it.
    fn update_ready(&mut self, id: &TodoId) {
        let Some(node) = self.nodes.get(id) else { return };
        let entry = (node.order, id.clone());
        if node.is_ready() {
            self.ready.insert(entry)
        } else {
            self.ready.remove(&entry)
        };
    }

    /// Removes a todo from the lookup tables, before it is replaced or removed.
    fn unlink(&mut self, id: &TodoId) {
        let Some(node) = self.nodes.get(id) else { return };
        self.ready.remove(&(node.order, id.clone()));
        for dependency in node.depends_on.clone() {
            if let Some(dependents) = self.dependents.get_mut(&dependency) {
                dependents.remove(id);
                if dependents.is_empty() {
                    self.dependents.remove(&dependency);
                }
            }
        }
    }
}

impl TodoNode {
    fn is_ready(&self) -> bool {
        self.open_dependencies == 0 && self.progress == TodoProgress::Pending
    }
}
