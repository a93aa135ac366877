//! The services of a fleet's driver, and how it starts workers for todos.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures_util::future::join_all;
use kernel::{InputRefusal, KernelInput, TodoTransition};
use protocol::{FleetConfig, Hinted, Principal, ReusedResult, TaskId, Todo, TodoId};
use runtime::{FleetSession, InputRejection};
use store::{SessionReader, StoreError, TodoRow};

use crate::history::{FleetRecord, TodoRequirements};
use crate::merging::MergeError;
use crate::services::{FleetServices, TodoLookup};
use crate::worker::WorkerError;
use crate::{prompts, worker};

/// Why no worker starts for a todo.
#[derive(Debug, thiserror::Error)]
enum DispatchError {
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The work of its dependencies cannot be joined for it.
    #[error(transparent)]
    Merge(#[from] MergeError),
}

impl Hinted for DispatchError {
    fn hint(&self) -> Option<String> {
        match self {
            DispatchError::Worker(error) => error.hint(),
            DispatchError::Merge(error) => error.hint(),
        }
    }
}

/// The services of a fleet's driver.
#[derive(Debug)]
pub(crate) struct FleetContext {
    pub(crate) session: FleetSession,
    pub(crate) services: FleetServices,
    /// A reader that stays open: every start of a worker reads its row.
    reader: Mutex<SessionReader>,
    /// The results of todos that were not done again.
    reused_results: Mutex<BTreeMap<TodoId, ReusedResult>>,
}

impl FleetContext {
    pub(crate) fn new(session: FleetSession, services: FleetServices) -> Result<FleetContext, StoreError> {
        let reader = Mutex::new(session.reader()?);
        Ok(FleetContext { session, services, reader, reused_results: Mutex::default() })
    }

    /// All todos, in the order in which they were added.
    pub(crate) fn todo_rows(&self) -> Result<Vec<TodoRow>, StoreError> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).todos()
    }

    pub(crate) fn todo_row(&self, id: &TodoId) -> Result<Option<TodoRow>, StoreError> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).todo(id)
    }

    /// The latest result of a todo.
    pub(crate) fn latest_result(&self, row: &TodoRow) -> Option<String> {
        // The store gets the result in the same commit as the row; the roster may lag behind.
        let stored_result = || {
            let task: TaskId = row.task.as_deref()?.parse().ok()?;
            self.reader.lock().unwrap_or_else(PoisonError::into_inner).result(task).ok()?
        };
        self.reused_result(&row.todo.id)
            .map(|reused| reused.result)
            .or_else(stored_result)
            .filter(|text| !text.is_empty())
    }

    /// The reused result of a todo, if it was not done again.
    pub(crate) fn reused_result(&self, todo: &TodoId) -> Option<ReusedResult> {
        self.reused_results.lock().unwrap_or_else(PoisonError::into_inner).get(todo).cloned()
    }

    /// Records that a todo need not be done again, because of this result from an earlier run.
    pub(crate) fn record_reuse(&self, todo: &TodoId, result: ReusedResult) {
        self.reused_results.lock().unwrap_or_else(PoisonError::into_inner).insert(todo.clone(), result);
    }

    /// Discards the result from an earlier run: the todo is done again.
    pub(crate) fn discard_reuse(&self, todo: &TodoId) {
        self.reused_results.lock().unwrap_or_else(PoisonError::into_inner).remove(todo);
    }

    /// Starts a worker for each of these todos, unless its result is reused or it cannot be done.
    pub(crate) async fn dispatch(
        &self,
        config: &FleetConfig,
        history: &FleetRecord,
        due: Vec<TodoId>,
    ) -> Result<(), InputRejection> {
        let inputs = join_all(due.iter().map(|id| self.todo_input(config, id, history.requirements.get(id)))).await;
        // The inputs are queued together, and one commit can hold them all.
        let submit = |(todo, input): (&TodoId, KernelInput)| self.submit(todo.clone(), input);
        join_all(due.iter().zip(inputs).map(submit)).await.into_iter().collect()
    }

    async fn submit(&self, todo: TodoId, input: KernelInput) -> Result<(), InputRejection> {
        match self.session.submit(input).await {
            Ok(()) => Ok(()),
            Err(InputRejection::Refused(refusal)) if is_outdated(&refusal) => Ok(()),
            // The session is stopping.
            Err(InputRejection::Refused(refusal @ (InputRefusal::Closed | InputRefusal::Stopping(_)))) => {
                Err(refusal.into())
            }
            Err(InputRejection::Refused(refusal)) => self.block(todo, refusal.to_string()).await,
            Err(rejected) => Err(rejected),
        }
    }

    /// Marks an unclaimed todo as blocked.
    pub(crate) async fn block(&self, todo: TodoId, reason: String) -> Result<(), InputRejection> {
        match self.session.submit(KernelInput::SetTodoState { todo, to: TodoTransition::Block(reason) }).await {
            Err(InputRejection::Refused(refusal)) if is_outdated(&refusal) => Ok(()),
            blocked => blocked,
        }
    }

    /// The input that starts, reuses or blocks a due todo.
    async fn todo_input(&self, config: &FleetConfig, id: &TodoId, required: Option<&TodoRequirements>) -> KernelInput {
        let mut row = match self.todo_row(id) {
            Ok(Some(row)) => row,
            // The row is missing; without this input the todo would stay due for ever.
            Ok(None) => {
                return KernelInput::TodosChanged {
                    by: Principal::Runtime,
                    changed: Vec::new(),
                    gone: vec![id.clone()],
                    upto: 0,
                };
            }
            Err(error) => {
                let to = TodoTransition::Block(format!("the todo cannot be read: {error}"));
                return KernelInput::SetTodoState { todo: id.clone(), to };
            }
        };
        let mut author = None;
        if let Some(required) = required.cloned() {
            (row.todo.check, row.todo.expects, author) = (required.check, required.expects, required.author);
        }
        let redo_reason = match self.services.lookup(&row.todo).await {
            TodoLookup::Reuse(result) => {
                self.record_reuse(id, result.clone());
                return KernelInput::SetTodoState { todo: id.clone(), to: TodoTransition::Reuse(Some(result)) };
            }
            TodoLookup::Do(redo_reason) => redo_reason,
        };
        self.discard_reuse(id);
        match self.worker_input(config, &row, author, redo_reason).await {
            Ok(input) => input,
            Err(error) => {
                let to = TodoTransition::Block(error.in_one_line());
                KernelInput::SetTodoState { todo: id.clone(), to }
            }
        }
    }

    async fn worker_input(
        &self,
        config: &FleetConfig,
        row: &TodoRow,
        author: Option<TaskId>,
        redo_reason: Option<String>,
    ) -> Result<KernelInput, DispatchError> {
        if let Some(author) = author {
            worker::check_author_rights(&self.session, author, config, &row.todo).await?;
        }
        let prompt = prompts::worker_prompt(row, &config.goal, &self.dependency_results(&row.todo));
        let spawn = worker::worker_spawn(&self.session, config, row, redo_reason).await?.prompt(prompt);
        let isolation = self.services.merger.isolation_for(config, &row.todo).await?;
        let (_worker, input) = self.session.spawn_input(spawn.isolation(isolation));
        Ok(input)
    }

    /// The results of the todos that this one depends on.
    fn dependency_results(&self, todo: &Todo) -> Vec<(TodoId, String)> {
        let result = |id: &TodoId| Some((id.clone(), self.latest_result(&self.todo_row(id).ok()??)?));
        todo.depends_on.iter().filter_map(result).collect()
    }
}

/// Whether a refusal only means that the state has changed since the last snapshot; the next one will show it.
fn is_outdated(refusal: &InputRefusal) -> bool {
    matches!(
        refusal,
        InputRefusal::TodoClaimed { .. }
            | InputRefusal::TodoNotReady(_)
            | InputRefusal::ClaimLimit { .. }
            | InputRefusal::NoTodo(_)
            | InputRefusal::NoFleet
    )
}
