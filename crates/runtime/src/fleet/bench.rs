//! What a fleet's driver works with, and how it makes workers of todos.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use kernel::{Input, Refusal, TodoMove};
use protocol::{Brought, FleetTerms, Origin, TaskId, Todo, TodoId};
use store::{Reader, StoreError, TodoRow};

use super::past::{Demand, Past};
use super::{Aids, words, worker};
use crate::agent::Desk;
use crate::supervisor::{Rejected, Supervisor};

/// What a fleet's driver works with.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) desk: Arc<Desk>,
    pub(super) supervisor: Supervisor,
    pub(super) root: TaskId,
    pub(super) aids: Aids,
    /// A reader that stays open: every worker begins with a look at its row.
    reader: Mutex<Reader>,
    /// What was not done again, with what it brought.
    recalled: Mutex<BTreeMap<TodoId, Brought>>,
}

impl Bench {
    pub(super) fn new(desk: Arc<Desk>, supervisor: Supervisor, root: TaskId, aids: Aids) -> Result<Bench, StoreError> {
        let reader = Mutex::new(desk.reader()?);
        Ok(Bench { desk, supervisor, root, aids, reader, recalled: Mutex::default() })
    }

    /// Every todo, in the order that they were written.
    pub(super) fn rows(&self) -> Result<Vec<TodoRow>, StoreError> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).todos()
    }

    pub(super) fn row(&self, id: &TodoId) -> Result<Option<TodoRow>, StoreError> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).todo(id)
    }

    /// What whoever did a todo last said.
    pub(super) fn said(&self, row: &TodoRow) -> Option<String> {
        // The file has it in the same commit as the row; the roster may be a moment behind.
        let of_task = || {
            let task: TaskId = row.task.as_deref()?.parse().ok()?;
            self.reader.lock().unwrap_or_else(PoisonError::into_inner).result(task).ok()?
        };
        self.recalled(&row.todo.id).map(|brought| brought.result).or_else(of_task).filter(|said| !said.is_empty())
    }

    /// What a todo brought that was not done again.
    pub(super) fn recalled(&self, todo: &TodoId) -> Option<Brought> {
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner).get(todo).cloned()
    }

    /// A todo need not be done again, since an earlier run brought this.
    pub(super) fn reuse(&self, todo: &TodoId, brought: Brought) {
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner).insert(todo.clone(), brought);
    }

    /// What an earlier run brought does not count: the todo is done again.
    pub(super) fn redo(&self, todo: &TodoId) {
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner).remove(todo);
    }

    /// Starts a worker for each of these, unless it need not be done again or cannot be done.
    pub(super) async fn dispatch(&self, terms: &FleetTerms, past: &Past, due: Vec<TodoId>) -> Result<(), Rejected> {
        let inputs = join_all(due.iter().map(|id| self.prepare(terms, id, past.demands.get(id)))).await;
        // They line up together, and one commit can hold them all.
        let submit = |(todo, input): (&TodoId, Input)| self.submit(todo.clone(), input);
        join_all(due.iter().zip(inputs).map(submit)).await.into_iter().collect()
    }

    async fn submit(&self, todo: TodoId, input: Input) -> Result<(), Rejected> {
        match self.supervisor.submit(input).await {
            Ok(_receipt) => Ok(()),
            Err(Rejected::Refused(refusal)) if is_late(&refusal) => Ok(()),
            // The session stops.
            Err(Rejected::Refused(refusal @ (Refusal::Closed | Refusal::Stopping(_)))) => Err(refusal.into()),
            Err(Rejected::Refused(refusal)) => self.block(todo, refusal.to_string()).await,
            Err(rejected) => Err(rejected),
        }
    }

    /// Says that a todo that nobody holds cannot be done.
    pub(super) async fn block(&self, todo: TodoId, reason: String) -> Result<(), Rejected> {
        match self.supervisor.submit(Input::MoveTodo { todo, to: TodoMove::Block(reason) }).await {
            Err(Rejected::Refused(refusal)) if is_late(&refusal) => Ok(()),
            blocked => blocked.map(|_receipt| ()),
        }
    }

    /// What is to become of a due todo.
    async fn prepare(&self, terms: &FleetTerms, id: &TodoId, demand: Option<&Demand>) -> Input {
        let mut row = match self.row(id) {
            Ok(Some(row)) => row,
            // However its row went: a todo that nobody can read would be due for ever.
            Ok(None) => {
                return Input::Todos { by: Origin::Runtime, changed: Vec::new(), gone: vec![id.clone()], upto: 0 };
            }
            Err(error) => {
                let to = TodoMove::Block(format!("it cannot be read: {error}"));
                return Input::MoveTodo { todo: id.clone(), to };
            }
        };
        let mut author = None;
        if let Some(demand) = demand.cloned() {
            (row.todo.check, row.todo.expects, author) = (demand.check, demand.expects, demand.author);
        }
        if let Some(brought) = self.aids.memory.recall(&row.todo).await {
            self.reuse(id, brought.clone());
            return Input::MoveTodo { todo: id.clone(), to: TodoMove::Reuse(Some(brought)) };
        }
        self.redo(id);
        match self.worker(terms, &row, author).await {
            Ok(input) => input,
            Err(reason) => Input::MoveTodo { todo: id.clone(), to: TodoMove::Block(reason) },
        }
    }

    async fn worker(&self, terms: &FleetTerms, row: &TodoRow, author: Option<TaskId>) -> Result<Input, String> {
        if let Some(author) = author {
            worker::within_reach(&self.desk, (self.root, author), terms, &row.todo).await?;
        }
        let prompt = words::worker(row, &terms.goal, &self.before(&row.todo));
        let mut spawn = worker::spawn(&self.desk, self.root, terms, row, prompt).await?;
        spawn.spec.isolation = self.aids.ground.place(terms, &row.todo).await?;
        Ok(Input::Spawn(spawn))
    }

    /// What the todos brought that this one depends on.
    fn before(&self, todo: &Todo) -> Vec<(TodoId, String)> {
        let brought = |id: &TodoId| Some((id.clone(), self.said(&self.row(id).ok()??)?));
        todo.depends_on.iter().filter_map(brought).collect()
    }
}

/// Whether a refusal only says that things have changed since the last look, which the next one will show.
fn is_late(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::TodoHeld { .. }
            | Refusal::TodoNotReady(_)
            | Refusal::TodosHeld { .. }
            | Refusal::NoTodo(_)
            | Refusal::NoFleet
    )
}
