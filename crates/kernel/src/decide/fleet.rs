//! Todos are claimed, done, tried again or blocked. The runtime's looks count; the word of a worker does not.

use protocol::{
    BlockReason, CancelBy, CancelMode, Event, FleetConfig, FleetEnd, Principal, TaskId, TaskOutcome, Todo, TodoId,
    TodoStatus,
};

use super::DecisionDraft;
use crate::graph::TodoProgress;
use crate::state::SessionAdmission;
use crate::{InputRefusal, TodoMove};

impl DecisionDraft<'_> {
    /// Rows of the table were changed by somebody. While a fleet works, how far a todo is, is the runtime's to say,
    /// but for the root and people, who plan.
    pub(super) fn todos(
        &mut self,
        by: Principal,
        changed: Vec<Todo>,
        gone: Vec<TodoId>,
        upto: u64,
    ) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        let plans = match by {
            Principal::User | Principal::Runtime => true,
            Principal::Task { id } => id == root,
        };
        let changed: Vec<Todo> = changed.into_iter().map(|todo| self.corrected(todo, plans)).collect();
        let held: Vec<TaskId> = gone.iter().filter_map(|id| self.holder(id)).collect();
        let relinked = changed.iter().any(|todo| self.is_relinked(todo));
        let mut moved: Vec<TodoId> = changed.iter().map(|todo| todo.id.clone()).collect();
        moved.extend(gone.iter().flat_map(|todo| self.state.graph.dependents(todo)).cloned());
        self.record(root, Event::TodosChanged { by, changed, gone, upto })?;
        for task in held {
            self.cancel(task, CancelBy::Parent, CancelMode::Abort)?;
        }
        if relinked {
            self.mark_cycles(&moved)?;
        }
        self.propagate_blocks(moved)
    }

    pub(super) fn begin_fleet(&mut self, terms: FleetConfig) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        if self.state.graph.fleet().is_some() {
            return Err(InputRefusal::FleetAtWork);
        }
        if let Some(path) = self.state.graph.cycle() {
            return Err(InputRefusal::TodoCycle(path));
        }
        self.record(root, Event::FleetBegan(terms))?;
        let all = self.state.graph.nodes().map(|(todo, _)| todo.clone()).collect();
        self.propagate_blocks(all)
    }

    pub(super) fn end_fleet(&mut self, end: FleetEnd) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        if self.state.graph.fleet().is_none() {
            return Err(InputRefusal::NoFleet);
        }
        let held = self.state.graph.nodes().filter_map(|(id, _)| self.holder(id));
        let merging = self.state.tasks.values().filter(|task| task.merges.is_some() && !task.is_finished());
        let at_work: Vec<TaskId> = held.chain(merging.map(|task| task.id)).collect();
        // First the fleet, then its workers: what they held is given back, and nobody is to blame.
        self.record(root, Event::FleetEnded { end })?;
        at_work.into_iter().try_for_each(|task| self.cancel(task, CancelBy::Parent, CancelMode::Abort))
    }

    /// The runtime moves a todo that nobody holds.
    pub(super) fn move_todo(&mut self, todo: TodoId, to: TodoMove) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        let node = self.state.graph.node(&todo).ok_or_else(|| InputRefusal::NoTodo(todo.clone()))?;
        if let TodoProgress::Claimed { task, .. } = node.progress {
            return Err(InputRefusal::TodoHeld { todo, by: task });
        }
        let event = match to {
            TodoMove::Reuse(brought) => Event::TodoDone { todo: todo.clone(), fence: None, reused: brought },
            TodoMove::Block(reason) => Event::TodoBlocked { todo: todo.clone(), why: BlockReason::Itself { reason } },
            TodoMove::Reopen => Event::TodoUnblocked { todo: todo.clone() },
        };
        self.record(root, event)?;
        self.propagate_blocks(vec![todo])
    }

    /// What a todo brought is in the merged tree.
    pub(super) fn merge_todo(&mut self, todo: TodoId, commit: String) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        match self.state.graph.node(&todo) {
            Some(_) => self.record(root, Event::WorkMerged { todo, commit }),
            None => Err(InputRefusal::NoTodo(todo)),
        }
    }

    /// Whether a task may be started to do this todo now.
    pub(super) fn expect_claimable(&self, todo: &TodoId) -> Result<(), InputRefusal> {
        let graph = &self.state.graph;
        let terms = graph.fleet().ok_or(InputRefusal::NoFleet)?;
        let node = graph.node(todo).ok_or_else(|| InputRefusal::NoTodo(todo.clone()))?;
        if let TodoProgress::Claimed { task, .. } = node.progress {
            return Err(InputRefusal::TodoHeld { todo: todo.clone(), by: task });
        }
        if !graph.is_ready(todo) {
            return Err(InputRefusal::TodoNotReady(todo.clone()));
        }
        match terms.parallel {
            Some(cap) if graph.claimed() >= cap => Err(InputRefusal::TodosHeld { cap }),
            Some(_) | None => Ok(()),
        }
    }

    /// The task holds the todo that it was started for.
    pub(super) fn claim(&mut self, task: TaskId, todo: TodoId) -> Result<(), InputRefusal> {
        let fence = self.state.graph.fence + 1;
        self.record(task, Event::TodoClaimed { todo, fence })
    }

    /// A task's activation ended: what it held is done, tried again, or blocked.
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
            WorkerEnd::BrokenOff => Event::TodoReturned { todo: todo.clone(), fence, failure: None },
            // A session that stops breaks work off; who stops one worker does not want another.
            WorkerEnd::Stopped(_) if self.state.admission == SessionAdmission::Closed => {
                Event::TodoReturned { todo: todo.clone(), fence, failure: None }
            }
            WorkerEnd::Failed(words) if self.may_retry(failures) => {
                Event::TodoReturned { todo: todo.clone(), fence, failure: Some(words) }
            }
            WorkerEnd::Failed(reason) | WorkerEnd::Stopped(reason) => {
                Event::TodoBlocked { todo: todo.clone(), why: BlockReason::Itself { reason } }
            }
        };
        self.record(task, event)?;
        self.propagate_blocks(vec![todo])
    }

    fn may_retry(&self, failures: u32) -> bool {
        self.state.graph.fleet().is_some_and(|terms| failures < terms.retries)
    }

    /// Whether a row depends on other todos than before.
    fn is_relinked(&self, todo: &Todo) -> bool {
        let before = self.state.graph.node(&todo.id).map(|node| &node.depends_on);
        before.is_none_or(|before| *before != todo.depends_on.iter().cloned().collect())
    }

    /// Says of those that wait for themselves that they do, and of those that no longer do that they do not.
    fn mark_cycles(&mut self, moved: &[TodoId]) -> Result<(), InputRefusal> {
        let Some(root) = self.state.root.filter(|_| self.state.graph.fleet().is_some()) else { return Ok(()) };
        // One look at the whole says of most plans that there is nothing to look for.
        let has_circle = self.state.graph.cycle().is_some();
        for todo in moved.iter().filter(|_| has_circle) {
            // Of those that block each other in a circle each would wait for the other to be freed.
            let waits = self.state.graph.node(todo).is_some_and(|node| {
                matches!(node.progress, TodoProgress::Pending | TodoProgress::Blocked(BlockReason::Upstream { .. }))
            });
            if let Some(path) = self.state.graph.cycle_through(todo).filter(|_| waits) {
                self.record(root, Event::TodoBlocked { todo: todo.clone(), why: BlockReason::Cycle { path } })?;
            }
        }
        let circled = |standing: &TodoProgress| matches!(standing, TodoProgress::Blocked(BlockReason::Cycle { .. }));
        let marked = self.state.graph.nodes().filter(|(_, node)| circled(&node.progress));
        let marked: Vec<TodoId> = marked.map(|(todo, _)| todo.clone()).collect();
        for todo in marked {
            if !has_circle || self.state.graph.cycle_through(&todo).is_none() {
                self.record(root, Event::TodoUnblocked { todo: todo.clone() })?;
                self.propagate_blocks(vec![todo])?;
            }
        }
        Ok(())
    }

    /// What is blocked blocks what depends on it; what no longer is, frees it.
    fn propagate_blocks(&mut self, mut moved: Vec<TodoId>) -> Result<(), InputRefusal> {
        let Some(root) = self.state.root.filter(|_| self.state.graph.fleet().is_some()) else { return Ok(()) };
        while let Some(todo) = moved.pop() {
            if let Some(event) = self.pending_change(&todo) {
                self.record(root, event)?;
            }
            let is_blocked = self.is_blocked(&todo);
            let below = self.state.graph.dependents(&todo).filter(|below| self.is_moved(below, is_blocked));
            moved.extend(below.cloned().collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Whether a todo may be another because one that it depends on is blocked, or is not. What waits for thousands is
    /// not looked at anew for each of them that is done.
    fn is_moved(&self, todo: &TodoId, is_blocked: bool) -> bool {
        match self.state.graph.node(todo).map(|node| &node.progress) {
            Some(TodoProgress::Pending) => is_blocked,
            Some(TodoProgress::Blocked(BlockReason::Upstream { .. })) => {
                !is_blocked && self.pending_change(todo).is_some()
            }
            Some(TodoProgress::Blocked(BlockReason::Itself { .. } | BlockReason::Cycle { .. }))
            | Some(TodoProgress::Reported | TodoProgress::Claimed { .. } | TodoProgress::Done)
            | None => false,
        }
    }

    fn is_blocked(&self, todo: &TodoId) -> bool {
        matches!(self.state.graph.node(todo).map(|node| &node.progress), Some(TodoProgress::Blocked(_)))
    }

    /// What is to be said of a todo because of those that it depends on.
    fn pending_change(&self, todo: &TodoId) -> Option<Event> {
        let node = self.state.graph.node(todo)?;
        let blocked = || node.depends_on.iter().find(|above| self.is_blocked(above));
        match &node.progress {
            TodoProgress::Pending => blocked().map(|above| Event::TodoBlocked {
                todo: todo.clone(),
                why: BlockReason::Upstream { todo: above.clone() },
            }),
            // Mostly it is the one that was named.
            TodoProgress::Blocked(BlockReason::Upstream { todo: above })
                if node.depends_on.contains(above) && self.is_blocked(above) =>
            {
                None
            }
            TodoProgress::Blocked(BlockReason::Upstream { .. }) if blocked().is_none() => {
                Some(Event::TodoUnblocked { todo: todo.clone() })
            }
            TodoProgress::Blocked(_) | TodoProgress::Reported | TodoProgress::Claimed { .. } | TodoProgress::Done => {
                None
            }
        }
    }

    fn holder(&self, todo: &TodoId) -> Option<TaskId> {
        match self.state.graph.node(todo)?.progress {
            TodoProgress::Claimed { task, .. } => Some(task),
            TodoProgress::Pending | TodoProgress::Reported | TodoProgress::Done | TodoProgress::Blocked(_) => None,
        }
    }

    /// The row with the status that holds, which may not be the one it was given.
    fn corrected(&self, todo: Todo, plans: bool) -> Todo {
        if self.state.graph.fleet().is_none() {
            return todo;
        }
        let status = match self.state.graph.node(&todo.id).map(|node| &node.progress) {
            Some(standing @ TodoProgress::Claimed { .. }) => standing.status(),
            Some(standing) if !plans => standing.status(),
            None if !plans => TodoStatus::Pending,
            // Only a claim makes it so; a row that was read just before its claim ended may still say it.
            Some(standing) if todo.status == TodoStatus::InProgress => standing.status(),
            None if todo.status == TodoStatus::InProgress => TodoStatus::Pending,
            Some(_) | None => todo.status,
        };
        Todo { status, ..todo }
    }
}

/// What the end of a worker's activation means for its todo.
enum WorkerEnd {
    Done,
    /// Nobody wanted it to stop: what it worked for ended.
    BrokenOff,
    /// Somebody wanted it to.
    Stopped(String),
    Failed(String),
}

fn worker_end(outcome: &TaskOutcome) -> WorkerEnd {
    match outcome {
        TaskOutcome::Completed => WorkerEnd::Done,
        TaskOutcome::Cancelled { by: CancelBy::Parent | CancelBy::SessionEnd } => WorkerEnd::BrokenOff,
        TaskOutcome::Cancelled { by: CancelBy::User } => {
            WorkerEnd::Stopped("a person stopped whoever worked on it".into())
        }
        TaskOutcome::Cancelled { by: CancelBy::Agent } => {
            WorkerEnd::Stopped("an agent stopped whoever worked on it".into())
        }
        TaskOutcome::Failed { message, .. } => WorkerEnd::Failed(message.clone()),
        TaskOutcome::TimedOut { .. } => WorkerEnd::Failed("it reached its limit before it was done".into()),
        TaskOutcome::BudgetExhausted => WorkerEnd::Failed("it had spent what it may before it was done".into()),
        TaskOutcome::Lost => WorkerEnd::Failed("nobody knows how it ended".into()),
    }
}
