//! What a fleet's driver works with, and how it makes workers of todos.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use kernel::{InputRefusal, KernelInput, TodoMove};
use protocol::{FleetConfig, Principal, ReusedResult, TaskId, Todo, TodoId};
use store::{SessionReader, StoreError, TodoRow};

use super::history::{PastFleet, TodoRequirements};
use super::{FleetServices, prompts, worker};
use crate::agent::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// What a fleet's driver works with.
#[derive(Debug)]
pub(super) struct FleetContext {
    pub(super) context: Arc<SessionContext>,
    pub(super) supervisor: Supervisor,
    pub(super) root: TaskId,
    pub(super) services: FleetServices,
    /// A reader that stays open: every worker begins with a look at its row.
    reader: Mutex<SessionReader>,
    /// What was not done again, with what it brought.
    reused_results: Mutex<BTreeMap<TodoId, ReusedResult>>,
}

impl FleetContext {
    pub(super) fn new(
        context: Arc<SessionContext>,
        supervisor: Supervisor,
        root: TaskId,
        aids: FleetServices,
    ) -> Result<FleetContext, StoreError> {
        let reader = Mutex::new(context.reader()?);
        Ok(FleetContext { context, supervisor, root, services: aids, reader, reused_results: Mutex::default() })
    }

    /// Every todo, in the order that they were written.
    pub(super) fn rows(&self) -> Result<Vec<TodoRow>, StoreError> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).todos()
    }

    pub(super) fn row(&self, id: &TodoId) -> Result<Option<TodoRow>, StoreError> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).todo(id)
    }

    /// What whoever did a todo last said.
    pub(super) fn latest_result(&self, row: &TodoRow) -> Option<String> {
        // The file has it in the same commit as the row; the roster may be a moment behind.
        let of_task = || {
            let task: TaskId = row.task.as_deref()?.parse().ok()?;
            self.reader.lock().unwrap_or_else(PoisonError::into_inner).result(task).ok()?
        };
        self.reused_result(&row.todo.id).map(|brought| brought.result).or_else(of_task).filter(|said| !said.is_empty())
    }

    /// What a todo brought that was not done again.
    pub(super) fn reused_result(&self, todo: &TodoId) -> Option<ReusedResult> {
        self.reused_results.lock().unwrap_or_else(PoisonError::into_inner).get(todo).cloned()
    }

    /// A todo need not be done again, since an earlier run brought this.
    pub(super) fn reuse(&self, todo: &TodoId, brought: ReusedResult) {
        self.reused_results.lock().unwrap_or_else(PoisonError::into_inner).insert(todo.clone(), brought);
    }

    /// What an earlier run brought does not count: the todo is done again.
    pub(super) fn discard_reuse(&self, todo: &TodoId) {
        self.reused_results.lock().unwrap_or_else(PoisonError::into_inner).remove(todo);
    }

    /// Starts a worker for each of these, unless it need not be done again or cannot be done.
    pub(super) async fn dispatch(
        &self,
        terms: &FleetConfig,
        past: &PastFleet,
        due: Vec<TodoId>,
    ) -> Result<(), InputRejection> {
        let inputs = join_all(due.iter().map(|id| self.prepare(terms, id, past.requirements.get(id)))).await;
        // They line up together, and one commit can hold them all.
        let submit = |(todo, input): (&TodoId, KernelInput)| self.submit(todo.clone(), input);
        join_all(due.iter().zip(inputs).map(submit)).await.into_iter().collect()
    }

    async fn submit(&self, todo: TodoId, input: KernelInput) -> Result<(), InputRejection> {
        match self.supervisor.submit(input).await {
            Ok(_receipt) => Ok(()),
            Err(InputRejection::Refused(refusal)) if is_outdated(&refusal) => Ok(()),
            // The session stops.
            Err(InputRejection::Refused(refusal @ (InputRefusal::Closed | InputRefusal::Stopping(_)))) => {
                Err(refusal.into())
            }
            Err(InputRejection::Refused(refusal)) => self.block(todo, refusal.to_string()).await,
            Err(rejected) => Err(rejected),
        }
    }

    /// Says that a todo that nobody holds cannot be done.
    pub(super) async fn block(&self, todo: TodoId, reason: String) -> Result<(), InputRejection> {
        match self.supervisor.submit(KernelInput::MoveTodo { todo, to: TodoMove::Block(reason) }).await {
            Err(InputRejection::Refused(refusal)) if is_outdated(&refusal) => Ok(()),
            blocked => blocked.map(|_receipt| ()),
        }
    }

    /// What is to become of a due todo.
    async fn prepare(&self, terms: &FleetConfig, id: &TodoId, demand: Option<&TodoRequirements>) -> KernelInput {
        let mut row = match self.row(id) {
            Ok(Some(row)) => row,
            // However its row went: a todo that nobody can read would be due for ever.
            Ok(None) => {
                return KernelInput::Todos {
                    by: Principal::Runtime,
                    changed: Vec::new(),
                    gone: vec![id.clone()],
                    upto: 0,
                };
            }
            Err(error) => {
                let to = TodoMove::Block(format!("it cannot be read: {error}"));
                return KernelInput::MoveTodo { todo: id.clone(), to };
            }
        };
        let mut author = None;
        if let Some(demand) = demand.cloned() {
            (row.todo.check, row.todo.expects, author) = (demand.check, demand.expects, demand.author);
        }
        if let Some(brought) = self.services.result_cache.lookup(&row.todo).await {
            self.reuse(id, brought.clone());
            return KernelInput::MoveTodo { todo: id.clone(), to: TodoMove::Reuse(Some(brought)) };
        }
        self.discard_reuse(id);
        match self.worker_input(terms, &row, author).await {
            Ok(input) => input,
            Err(reason) => KernelInput::MoveTodo { todo: id.clone(), to: TodoMove::Block(reason) },
        }
    }

    async fn worker_input(
        &self,
        terms: &FleetConfig,
        row: &TodoRow,
        author: Option<TaskId>,
    ) -> Result<KernelInput, String> {
        if let Some(author) = author {
            worker::check_author_rights(&self.context, (self.root, author), terms, &row.todo).await?;
        }
        let prompt = prompts::worker_prompt(row, &terms.goal, &self.dependency_results(&row.todo));
        let mut spawn = worker::worker_spawn(&self.context, self.root, terms, row, prompt).await?;
        spawn.spec.isolation = self.services.workspaces.workspace_for(terms, &row.todo).await?;
        Ok(KernelInput::Spawn(spawn))
    }

    /// What the todos brought that this one depends on.
    fn dependency_results(&self, todo: &Todo) -> Vec<(TodoId, String)> {
        let brought = |id: &TodoId| Some((id.clone(), self.latest_result(&self.row(id).ok()??)?));
        todo.depends_on.iter().filter_map(brought).collect()
    }
}

/// Whether a refusal only says that things have changed since the last look, which the next one will show.
fn is_outdated(refusal: &InputRefusal) -> bool {
    matches!(
        refusal,
        InputRefusal::TodoHeld { .. }
            | InputRefusal::TodoNotReady(_)
            | InputRefusal::TodosHeld { .. }
            | InputRefusal::NoTodo(_)
            | InputRefusal::NoFleet
    )
}
