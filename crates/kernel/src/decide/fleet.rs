//! Todos are claimed, done, tried again or blocked. The runtime's looks count; the word of a worker does not.

use protocol::{
    Blocked, Cancel, CancelBy, Event, FleetEnd, FleetTerms, Origin, Outcome, TaskId, Todo, TodoId, TodoStatus,
};

use super::Draft;
use crate::graph::Standing;
use crate::state::Admission;
use crate::{Refusal, TodoMove};

impl Draft<'_> {
    /// Rows of the table were changed by somebody. While a fleet works, how far a todo is, is the runtime's to say,
    /// but for the root and people, who plan.
    pub(super) fn todos(
        &mut self,
        by: Origin,
        changed: Vec<Todo>,
        gone: Vec<TodoId>,
        upto: u64,
    ) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        let plans = match by {
            Origin::User | Origin::Runtime => true,
            Origin::Task { id } => id == root,
        };
        let changed: Vec<Todo> = changed.into_iter().map(|todo| self.corrected(todo, plans)).collect();
        let held: Vec<TaskId> = gone.iter().filter_map(|id| self.holder(id)).collect();
        let relinked = changed.iter().any(|todo| self.is_relinked(todo));
        let mut moved: Vec<TodoId> = changed.iter().map(|todo| todo.id.clone()).collect();
        moved.extend(gone.iter().flat_map(|todo| self.state.graph.dependents(todo)).cloned());
        self.record(root, Event::TodosChanged { by, changed, gone, upto })?;
        for task in held {
            self.cancel(task, CancelBy::Parent, Cancel::Abort)?;
        }
        if relinked {
            self.mark_circles(&moved)?;
        }
        self.settle(moved)
    }

    pub(super) fn begin_fleet(&mut self, terms: FleetTerms) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        if self.state.graph.fleet().is_some() {
            return Err(Refusal::FleetAtWork);
        }
        if let Some(path) = self.state.graph.cycle() {
            return Err(Refusal::TodoCycle(path));
        }
        self.record(root, Event::FleetBegan(terms))?;
        let all = self.state.graph.nodes().map(|(todo, _)| todo.clone()).collect();
        self.settle(all)
    }

    pub(super) fn end_fleet(&mut self, end: FleetEnd) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        if self.state.graph.fleet().is_none() {
            return Err(Refusal::NoFleet);
        }
        let held = self.state.graph.nodes().filter_map(|(id, _)| self.holder(id));
        let merging = self.state.tasks.values().filter(|task| task.merges.is_some() && !task.is_finished());
        let at_work: Vec<TaskId> = held.chain(merging.map(|task| task.id)).collect();
        // First the fleet, then its workers: what they held is given back, and nobody is to blame.
        self.record(root, Event::FleetEnded { end })?;
        at_work.into_iter().try_for_each(|task| self.cancel(task, CancelBy::Parent, Cancel::Abort))
    }

    /// The runtime moves a todo that nobody holds.
    pub(super) fn move_todo(&mut self, todo: TodoId, to: TodoMove) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        let node = self.state.graph.node(&todo).ok_or_else(|| Refusal::NoTodo(todo.clone()))?;
        if let Standing::Claimed { task, .. } = node.standing {
            return Err(Refusal::TodoHeld { todo, by: task });
        }
        let event = match to {
            TodoMove::Reuse(brought) => Event::TodoDone { todo: todo.clone(), fence: None, brought },
            TodoMove::Block(reason) => Event::TodoBlocked { todo: todo.clone(), why: Blocked::Itself { reason } },
            TodoMove::Reopen => Event::TodoFreed { todo: todo.clone() },
        };
        self.record(root, event)?;
        self.settle(vec![todo])
    }

    /// What a todo brought is in the merged tree.
    pub(super) fn merge_todo(&mut self, todo: TodoId, commit: String) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        match self.state.graph.node(&todo) {
            Some(_) => self.record(root, Event::WorkMerged { todo, commit }),
            None => Err(Refusal::NoTodo(todo)),
        }
    }

    /// Whether a task may be started to do this todo now.
    pub(super) fn expect_claimable(&self, todo: &TodoId) -> Result<(), Refusal> {
        let graph = &self.state.graph;
        let terms = graph.fleet().ok_or(Refusal::NoFleet)?;
        let node = graph.node(todo).ok_or_else(|| Refusal::NoTodo(todo.clone()))?;
        if let Standing::Claimed { task, .. } = node.standing {
            return Err(Refusal::TodoHeld { todo: todo.clone(), by: task });
        }
        if !graph.is_ready(todo) {
            return Err(Refusal::TodoNotReady(todo.clone()));
        }
        match terms.parallel {
            Some(cap) if graph.claimed() >= cap => Err(Refusal::TodosHeld { cap }),
            Some(_) | None => Ok(()),
        }
    }

    /// The task holds the todo that it was started for.
    pub(super) fn claim(&mut self, task: TaskId, todo: TodoId) -> Result<(), Refusal> {
        let fence = self.state.graph.fence + 1;
        self.record(task, Event::TodoClaimed { todo, fence })
    }

    /// A task's activation ended: what it held is done, tried again, or blocked.
    pub(super) fn release_todo(&mut self, task: TaskId, outcome: &Outcome) -> Result<(), Refusal> {
        let Some(todo) = self.task(task)?.todo.clone() else { return Ok(()) };
        let Some((fence, failures)) = self.state.graph.node(&todo).and_then(|node| match node.standing {
            Standing::Claimed { task: holder, fence } if holder == task => Some((fence, node.failures)),
            _ => None,
        }) else {
            return Ok(());
        };
        let event = match end(outcome) {
            End::Done => Event::TodoDone { todo: todo.clone(), fence: Some(fence), brought: None },
            End::BrokenOff => Event::TodoReturned { todo: todo.clone(), fence, failure: None },
            // A session that stops breaks work off; who stops one worker does not want another.
            End::Stopped(_) if self.state.admission == Admission::Closed => {
                Event::TodoReturned { todo: todo.clone(), fence, failure: None }
            }
            End::Failed(words) if self.may_retry(failures) => {
                Event::TodoReturned { todo: todo.clone(), fence, failure: Some(words) }
            }
            End::Failed(reason) | End::Stopped(reason) => {
                Event::TodoBlocked { todo: todo.clone(), why: Blocked::Itself { reason } }
            }
        };
        self.record(task, event)?;
        self.settle(vec![todo])
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
    fn mark_circles(&mut self, moved: &[TodoId]) -> Result<(), Refusal> {
        let Some(root) = self.state.root.filter(|_| self.state.graph.fleet().is_some()) else { return Ok(()) };
        // One look at the whole says of most plans that there is nothing to look for.
        let has_circle = self.state.graph.cycle().is_some();
        for todo in moved.iter().filter(|_| has_circle) {
            // Of those that block each other in a circle each would wait for the other to be freed.
            let waits = self.state.graph.node(todo).is_some_and(|node| {
                matches!(node.standing, Standing::Pending | Standing::Blocked(Blocked::Upstream { .. }))
            });
            if let Some(path) = self.state.graph.circle_through(todo).filter(|_| waits) {
                self.record(root, Event::TodoBlocked { todo: todo.clone(), why: Blocked::Cycle { path } })?;
            }
        }
        let circled = |standing: &Standing| matches!(standing, Standing::Blocked(Blocked::Cycle { .. }));
        let marked = self.state.graph.nodes().filter(|(_, node)| circled(&node.standing));
        let marked: Vec<TodoId> = marked.map(|(todo, _)| todo.clone()).collect();
        for todo in marked {
            if !has_circle || self.state.graph.circle_through(&todo).is_none() {
                self.record(root, Event::TodoFreed { todo: todo.clone() })?;
                self.settle(vec![todo])?;
            }
        }
        Ok(())
    }

    /// What is blocked blocks what depends on it; what no longer is, frees it.
    fn settle(&mut self, mut moved: Vec<TodoId>) -> Result<(), Refusal> {
        let Some(root) = self.state.root.filter(|_| self.state.graph.fleet().is_some()) else { return Ok(()) };
        while let Some(todo) = moved.pop() {
            if let Some(event) = self.unsettled(&todo) {
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
        match self.state.graph.node(todo).map(|node| &node.standing) {
            Some(Standing::Pending) => is_blocked,
            Some(Standing::Blocked(Blocked::Upstream { .. })) => !is_blocked && self.unsettled(todo).is_some(),
            Some(Standing::Blocked(Blocked::Itself { .. } | Blocked::Cycle { .. }))
            | Some(Standing::Said | Standing::Claimed { .. } | Standing::Done)
            | None => false,
        }
    }

    fn is_blocked(&self, todo: &TodoId) -> bool {
        matches!(self.state.graph.node(todo).map(|node| &node.standing), Some(Standing::Blocked(_)))
    }

    /// What is to be said of a todo because of those that it depends on.
    fn unsettled(&self, todo: &TodoId) -> Option<Event> {
        let node = self.state.graph.node(todo)?;
        let blocked = || node.depends_on.iter().find(|above| self.is_blocked(above));
        match &node.standing {
            Standing::Pending => blocked()
                .map(|above| Event::TodoBlocked { todo: todo.clone(), why: Blocked::Upstream { todo: above.clone() } }),
            // Mostly it is the one that was named.
            Standing::Blocked(Blocked::Upstream { todo: above })
                if node.depends_on.contains(above) && self.is_blocked(above) =>
            {
                None
            }
            Standing::Blocked(Blocked::Upstream { .. }) if blocked().is_none() => {
                Some(Event::TodoFreed { todo: todo.clone() })
            }
            Standing::Blocked(_) | Standing::Said | Standing::Claimed { .. } | Standing::Done => None,
        }
    }

    fn holder(&self, todo: &TodoId) -> Option<TaskId> {
        match self.state.graph.node(todo)?.standing {
            Standing::Claimed { task, .. } => Some(task),
            Standing::Pending | Standing::Said | Standing::Done | Standing::Blocked(_) => None,
        }
    }

    /// The row with the status that holds, which may not be the one it was given.
    fn corrected(&self, todo: Todo, plans: bool) -> Todo {
        if self.state.graph.fleet().is_none() {
            return todo;
        }
        let status = match self.state.graph.node(&todo.id).map(|node| &node.standing) {
            Some(standing @ Standing::Claimed { .. }) => standing.status(),
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
enum End {
    Done,
    /// Nobody wanted it to stop: what it worked for ended.
    BrokenOff,
    /// Somebody wanted it to.
    Stopped(String),
    Failed(String),
}

fn end(outcome: &Outcome) -> End {
    match outcome {
        Outcome::Completed => End::Done,
        Outcome::Cancelled { by: CancelBy::Parent | CancelBy::SessionEnd } => End::BrokenOff,
        Outcome::Cancelled { by: CancelBy::User } => End::Stopped("a person stopped whoever worked on it".into()),
        Outcome::Cancelled { by: CancelBy::Agent } => End::Stopped("an agent stopped whoever worked on it".into()),
        Outcome::Failed { message, .. } => End::Failed(message.clone()),
        Outcome::TimedOut { .. } => End::Failed("it reached its limit before it was done".into()),
        Outcome::BudgetExhausted => End::Failed("it had spent what it may before it was done".into()),
        Outcome::Lost => End::Failed("nobody knows how it ended".into()),
    }
}
