//! Fleets: workers claim todos, which are then done, tried again or blocked. The runtime's own checks decide which, not
//! a worker's report.

use protocol::{
    BlockReason, CancelBy, CancelMode, Event, FleetConfig, FleetEnd, FleetStopReason, MergeSummary, Principal, TaskId,
    TaskOutcome, Todo, TodoId, TodoStatus,
};

use super::DecisionDraft;
use crate::graph::TodoProgress;
use crate::state::SessionAdmission;
use crate::{InputRefusal, TodoTransition};

impl DecisionDraft<'_> {
    /// Records changes to the `todos` table, up to entry `upto` of its change log. While a fleet works, only the
    /// runtime, the root and the user may change the status of a todo.
    pub(super) fn record_todo_changes(
        &mut self,
        by: Principal,
        changed: Vec<Todo>,
        gone: Vec<TodoId>,
        upto: u64,
    ) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        let may_set_status = match by {
            Principal::User | Principal::Runtime => true,
            Principal::Task { id } => id == root,
        };
        let changed: Vec<Todo> =
            changed.into_iter().map(|todo| self.with_effective_status(todo, may_set_status)).collect();
        let workers: Vec<TaskId> = gone.iter().filter_map(|id| self.worker_of(id)).collect();
        let has_new_dependencies = changed.iter().any(|todo| self.has_new_dependencies(todo));
        let mut affected: Vec<TodoId> = changed.iter().map(|todo| todo.id.clone()).collect();
        affected.extend(gone.iter().flat_map(|todo| self.state.graph.dependents(todo)).cloned());
        self.record(root, Event::TodosChanged { by, changed, gone, upto })?;
        for task in workers {
            self.cancel(task, CancelBy::Parent, CancelMode::Abort)?;
        }
        if has_new_dependencies {
            self.mark_cycles(&affected)?;
        }
        self.propagate_blocks(affected)
    }

    pub(super) fn begin_fleet(&mut self, config: FleetConfig) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        if self.state.graph.fleet().is_some() {
            return Err(InputRefusal::FleetRunning);
        }
        if let Some(path) = self.state.graph.cycle() {
            return Err(InputRefusal::TodoCycle(path));
        }
        self.record(root, Event::FleetBegan(config))?;
        let all = self.state.graph.nodes().map(|(todo, _)| todo.clone()).collect();
        self.propagate_blocks(all)
    }

    pub(super) fn end_fleet(&mut self, end: FleetEnd, why: Option<FleetStopReason>) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        if self.state.graph.fleet().is_none() {
            return Err(InputRefusal::NoFleet);
        }
        let workers = self.state.graph.nodes().filter_map(|(id, _)| self.worker_of(id));
        let resolvers = self.state.tasks.values().filter(|task| task.merges.is_some() && !task.is_finished());
        let tasks: Vec<TaskId> = workers.chain(resolvers.map(|task| task.id)).collect();
        // End the fleet before its workers, so that their todos are returned and not counted as failures.
        self.record(root, Event::FleetEnded { end, why })?;
        tasks.into_iter().try_for_each(|task| self.cancel(task, CancelBy::Parent, CancelMode::Abort))
    }

    /// Changes the state of a todo that no task has claimed, on behalf of the runtime.
    pub(super) fn set_todo_state(&mut self, todo: TodoId, to: TodoTransition) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        let node = self.state.graph.node(&todo).ok_or_else(|| InputRefusal::NoTodo(todo.clone()))?;
        if let TodoProgress::Claimed { task, .. } = node.progress {
            return Err(InputRefusal::TodoClaimed { todo, by: task });
        }
        let event = match to {
            TodoTransition::Reuse(reused) => Event::TodoDone { todo: todo.clone(), fence: None, reused },
            TodoTransition::Block(reason) => {
                Event::TodoBlocked { todo: todo.clone(), why: BlockReason::Itself { reason } }
            }
            TodoTransition::Reopen => Event::TodoUnblocked { todo: todo.clone() },
        };
        self.record(root, event)?;
        self.propagate_blocks(vec![todo])
    }

    /// Records that the result of a todo was merged.
    pub(super) fn merge_todo(&mut self, todo: TodoId, commit: String) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        match self.state.graph.node(&todo) {
            Some(_) => self.record(root, Event::WorkMerged { todo, commit }),
            None => Err(InputRefusal::NoTodo(todo)),
        }
    }

    /// Records how the work of isolated workers was merged, even if the user has ended the fleet meanwhile.
    pub(super) fn merge_fleet(&mut self, summary: Box<MergeSummary>) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        self.record(root, Event::FleetMerged(summary))
    }

    /// Checks that a task may be started for this todo now.
    pub(super) fn expect_claimable(&self, todo: &TodoId) -> Result<(), InputRefusal> {
        let graph = &self.state.graph;
        let config = graph.fleet().ok_or(InputRefusal::NoFleet)?;
        let node = graph.node(todo).ok_or_else(|| InputRefusal::NoTodo(todo.clone()))?;
        if let TodoProgress::Claimed { task, .. } = node.progress {
            return Err(InputRefusal::TodoClaimed { todo: todo.clone(), by: task });
        }
        if !graph.is_ready(todo) {
            return Err(InputRefusal::TodoNotReady(todo.clone()));
        }
        match config.parallel {
            Some(cap) if graph.claimed() >= cap => Err(InputRefusal::ClaimLimit { cap }),
            Some(_) | None => Ok(()),
        }
    }

    /// Claims a todo for the task that was started for it.
    pub(super) fn claim(
        &mut self,
        task: TaskId,
        todo: TodoId,
        redo_reason: Option<String>,
    ) -> Result<(), InputRefusal> {
        let fence = self.state.graph.fence + 1;
        self.record(task, Event::TodoClaimed { todo, fence, redo_reason })
    }

    /// Releases a task's todo when the task's activation ends: the todo is done, tried again, or blocked.
    pub(super) fn release_todo(&mut self, task: TaskId, outcome: &TaskOutcome) -> Result<(), InputRefusal> {
        let Some(todo) = self.task(task)?.todo.clone() else { return Ok(()) };
        let Some((fence, failures)) = self.state.graph.node(&todo).and_then(|node| match node.progress {
            TodoProgress::Claimed { task: holder, fence } if holder == task => Some((fence, node.failures)),
            _ => None,
        }) else {
            return Ok(());
        };
        let event = match worker_end(outcome) {
            WorkerEnd::Done => Event::TodoDone { todo: todo.clone(), fence: Some(fence), reused: None },
            WorkerEnd::Interrupted => Event::TodoReturned { todo: todo.clone(), fence, failure: None },
            // Stopping the session only interrupts the todo; a user who stops one worker does not want a new one.
            WorkerEnd::Stopped(_) if self.state.admission == SessionAdmission::Closed => {
                Event::TodoReturned { todo: todo.clone(), fence, failure: None }
            }
            WorkerEnd::Failed(message) if self.may_retry(failures) => {
                Event::TodoReturned { todo: todo.clone(), fence, failure: Some(message) }
            }
            WorkerEnd::Failed(reason) | WorkerEnd::Stopped(reason) => {
                Event::TodoBlocked { todo: todo.clone(), why: BlockReason::Itself { reason } }
            }
        };
        self.record(task, event)?;
        self.propagate_blocks(vec![todo])
    }

    fn may_retry(&self, failures: u32) -> bool {
        self.state.graph.fleet().is_some_and(|config| failures < config.retries)
    }

    /// Whether a changed row has other dependencies than before.
    fn has_new_dependencies(&self, todo: &Todo) -> bool {
        let before = self.state.graph.node(&todo.id).map(|node| &node.depends_on);
        before.is_none_or(|before| *before != todo.depends_on.iter().cloned().collect())
    }

    /// Blocks todos that are now part of a cycle, and unblocks those that no longer are.
    fn mark_cycles(&mut self, affected: &[TodoId]) -> Result<(), InputRefusal> {
        let Some(root) = self.state.root.filter(|_| self.state.graph.fleet().is_some()) else { return Ok(()) };
        // Most graphs have no cycle, so check the whole graph once before each todo.
        let has_cycle = self.state.graph.cycle().is_some();
        for todo in affected.iter().filter(|_| has_cycle) {
            // Replaces a block by a dependency: in a cycle, each todo would wait for the other to be unblocked.
            let is_waiting = self.state.graph.node(todo).is_some_and(|node| {
                matches!(node.progress, TodoProgress::Pending | TodoProgress::Blocked(BlockReason::Upstream { .. }))
            });
            if let Some(path) = self.state.graph.cycle_through(todo).filter(|_| is_waiting) {
                self.record(root, Event::TodoBlocked { todo: todo.clone(), why: BlockReason::Cycle { path } })?;
            }
        }
        let in_cycle = |progress: &TodoProgress| matches!(progress, TodoProgress::Blocked(BlockReason::Cycle { .. }));
        let blocked = self.state.graph.nodes().filter(|(_, node)| in_cycle(&node.progress));
        let blocked: Vec<TodoId> = blocked.map(|(todo, _)| todo.clone()).collect();
        for todo in blocked {
            if !has_cycle || self.state.graph.cycle_through(&todo).is_none() {
                self.record(root, Event::TodoUnblocked { todo: todo.clone() })?;
                self.propagate_blocks(vec![todo])?;
            }
        }
        Ok(())
    }

    /// Blocks the dependents of blocked todos, and unblocks the dependents of todos that are no longer blocked.
    fn propagate_blocks(&mut self, mut affected: Vec<TodoId>) -> Result<(), InputRefusal> {
        let Some(root) = self.state.root.filter(|_| self.state.graph.fleet().is_some()) else { return Ok(()) };
        while let Some(todo) = affected.pop() {
            if let Some(event) = self.due_block_event(&todo) {
                self.record(root, event)?;
            }
            let is_blocked = self.is_blocked(&todo);
            let dependents = self.state.graph.dependents(&todo).filter(|id| self.may_need_update(id, is_blocked));
            affected.extend(dependents.cloned().collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Whether a todo may have to be blocked or unblocked, now that a dependency was. This must be cheap: a todo may
    /// depend on thousands of others.
    fn may_need_update(&self, todo: &TodoId, is_blocked: bool) -> bool {
        match self.state.graph.node(todo).map(|node| &node.progress) {
            Some(TodoProgress::Pending) => is_blocked,
            Some(TodoProgress::Blocked(BlockReason::Upstream { .. })) => {
                !is_blocked && self.due_block_event(todo).is_some()
            }
            Some(TodoProgress::Blocked(BlockReason::Itself { .. } | BlockReason::Cycle { .. }))
            | Some(TodoProgress::Reported | TodoProgress::Claimed { .. } | TodoProgress::Done)
            | None => false,
        }
    }

    fn is_blocked(&self, todo: &TodoId) -> bool {
        matches!(self.state.graph.node(todo).map(|node| &node.progress), Some(TodoProgress::Blocked(_)))
    }

    /// The event that blocks or unblocks a todo because of its dependencies, if one is due.
    fn due_block_event(&self, todo: &TodoId) -> Option<Event> {
        let node = self.state.graph.node(todo)?;
        let blocked_dependency = || node.depends_on.iter().find(|dependency| self.is_blocked(dependency));
        match &node.progress {
            TodoProgress::Pending => blocked_dependency().map(|dependency| Event::TodoBlocked {
                todo: todo.clone(),
                why: BlockReason::Upstream { todo: dependency.clone() },
            }),
            // Usually the dependency that blocked the todo is still blocked.
            TodoProgress::Blocked(BlockReason::Upstream { todo: dependency })
                if node.depends_on.contains(dependency) && self.is_blocked(dependency) =>
            {
                None
            }
            TodoProgress::Blocked(BlockReason::Upstream { .. }) if blocked_dependency().is_none() => {
                Some(Event::TodoUnblocked { todo: todo.clone() })
            }
            TodoProgress::Blocked(_) | TodoProgress::Reported | TodoProgress::Claimed { .. } | TodoProgress::Done => {
                None
            }
        }
    }

    fn worker_of(&self, todo: &TodoId) -> Option<TaskId> {
        match self.state.graph.node(todo)?.progress {
            TodoProgress::Claimed { task, .. } => Some(task),
            TodoProgress::Pending | TodoProgress::Reported | TodoProgress::Done | TodoProgress::Blocked(_) => None,
        }
    }

    /// Returns the row with its effective status, which may differ from the written one.
    fn with_effective_status(&self, todo: Todo, may_set_status: bool) -> Todo {
        if self.state.graph.fleet().is_none() {
            return todo;
        }
        let status = match self.state.graph.node(&todo.id).map(|node| &node.progress) {
            Some(progress @ TodoProgress::Claimed { .. }) => progress.status(),
            Some(progress) if !may_set_status => progress.status(),
            None if !may_set_status => TodoStatus::Pending,
            // Only a claim puts a todo in progress. A row that was read before its claim ended may still say so.
            Some(progress) if todo.status == TodoStatus::InProgress => progress.status(),
            None if todo.status == TodoStatus::InProgress => TodoStatus::Pending,
            Some(_) | None => todo.status,
        };
        Todo { status, ..todo }
    }
}

/// What the end of a worker's activation means for its todo.
enum WorkerEnd {
    Done,
    /// It ended with its fleet or session.
    Interrupted,
    /// It was stopped on purpose.
    Stopped(String),
    Failed(String),
}

fn worker_end(outcome: &TaskOutcome) -> WorkerEnd {
    match outcome {
        TaskOutcome::Completed => WorkerEnd::Done,
        TaskOutcome::Cancelled { by: CancelBy::Parent | CancelBy::SessionEnd } => WorkerEnd::Interrupted,
        TaskOutcome::Cancelled { by: CancelBy::User } => WorkerEnd::Stopped("stopped by you".into()),
        TaskOutcome::Cancelled { by: CancelBy::Agent } => WorkerEnd::Stopped("stopped by an agent".into()),
        TaskOutcome::Cancelled { by: CancelBy::Server } => {
            WorkerEnd::Failed("cancelled by the server that did it".into())
        }
        TaskOutcome::Failed { message, .. } => WorkerEnd::Failed(message.clone()),
        TaskOutcome::TimedOut { .. } => WorkerEnd::Failed("the worker reached its limit before it was done".into()),
        TaskOutcome::BudgetExhausted => WorkerEnd::Failed("the worker used up its budget before it was done".into()),
        TaskOutcome::Lost => WorkerEnd::Failed("how the worker ended is unknown".into()),
    }
}
