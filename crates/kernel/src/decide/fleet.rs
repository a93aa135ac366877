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
        let moved: Vec<TodoId> = changed.iter().map(|todo| todo.id.clone()).collect();
        self.record(root, Event::TodosChanged { by, changed, gone, upto })?;
        for task in held {
            self.cancel(task, CancelBy::Parent, Cancel::Abort)?;
        }
        moved.iter().try_for_each(|todo| self.spread(todo))
    }

    pub(super) fn begin_fleet(&mut self, terms: FleetTerms) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        if self.state.graph.fleet().is_some() {
            return Err(Refusal::FleetAtWork);
        }
        if let Some(path) = self.state.graph.cycle() {
            return Err(Refusal::TodoCycle(path));
        }
        self.record(root, Event::FleetBegan(terms))
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
            TodoMove::Reuse => Event::TodoDone { todo: todo.clone(), fence: None },
            TodoMove::Block(reason) => Event::TodoBlocked { todo: todo.clone(), why: Blocked::Itself { reason } },
            TodoMove::Reopen => Event::TodoFreed { todo: todo.clone() },
        };
        self.record(root, event)?;
        self.spread(&todo)
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
        let retries = self.state.graph.fleet().map_or(0, |terms| terms.retries);
        // A session that stops breaks work off; a person who stops one worker does not want another.
        let broken_off = self.state.admission == Admission::Closed || self.state.graph.fleet().is_none();
        let event = match failure(outcome) {
            None => Event::TodoDone { todo: todo.clone(), fence: Some(fence) },
            Some(Failure::Stopped) if broken_off => Event::TodoReturned { todo: todo.clone(), fence, failure: None },
            Some(Failure::Words(words)) if failures < retries => {
                Event::TodoReturned { todo: todo.clone(), fence, failure: Some(words) }
            }
            Some(Failure::Words(reason)) => Event::TodoBlocked { todo: todo.clone(), why: Blocked::Itself { reason } },
            Some(Failure::Stopped) => {
                let reason = "whoever worked on it was stopped".to_owned();
                Event::TodoBlocked { todo: todo.clone(), why: Blocked::Itself { reason } }
            }
        };
        self.record(task, event)?;
        self.spread(&todo)
    }

    /// What is blocked blocks what depends on it; what no longer is, frees it.
    fn spread(&mut self, from: &TodoId) -> Result<(), Refusal> {
        if self.state.graph.fleet().is_none() {
            return Ok(());
        }
        let root = self.state.root.ok_or(Refusal::Closed)?;
        let mut next = vec![from.clone()];
        while let Some(todo) = next.pop() {
            let below: Vec<TodoId> = self.state.graph.dependents(&todo).cloned().collect();
            for id in below {
                let Some(node) = self.state.graph.node(&id) else { continue };
                let blocker = node.depends_on.iter().find(|above| {
                    let above = self.state.graph.node(above).map(|node| &node.standing);
                    matches!(above, Some(Standing::Blocked(_)))
                });
                let event = match (&node.standing, blocker) {
                    (Standing::Pending, Some(above)) => {
                        Event::TodoBlocked { todo: id.clone(), why: Blocked::Upstream { todo: above.clone() } }
                    }
                    (Standing::Blocked(Blocked::Upstream { .. }), None) => Event::TodoFreed { todo: id.clone() },
                    _ => continue,
                };
                self.record(root, event)?;
                next.push(id);
            }
        }
        Ok(())
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

/// Why a worker did not do its todo.
enum Failure {
    Stopped,
    Words(String),
}

fn failure(outcome: &Outcome) -> Option<Failure> {
    match outcome {
        Outcome::Completed => None,
        Outcome::Cancelled { .. } => Some(Failure::Stopped),
        Outcome::Failed { message, .. } => Some(Failure::Words(message.clone())),
        Outcome::TimedOut { .. } => Some(Failure::Words("it reached its limit before it was done".into())),
        Outcome::BudgetExhausted => Some(Failure::Words("it had spent what it may before it was done".into())),
        Outcome::Lost => Some(Failure::Words("nobody knows how it ended".into())),
    }
}
