//! What a session's file says, for clients in any process. Each answer is a consistent snapshot of the file, whether a
//! process runs the session or not; the file is open only meanwhile.

use host::Home;
use protocol::api::{
    AskView, FleetStatus, Method, SessionView, TaskRecord, TaskView, TasksPage, TasksParams, TodosPage, TodosParams,
};
use protocol::{AskDecision, AskId, CallId, Envelope, SessionId, TaskId, Timestamp};
use serde_json::Value;
use store::{SessionReader, StoreError, TaskSpending, TodoRow};

use crate::{BackgroundWork, ClientError, LatestFleet, SessionHandle, StoredSession};

/// Answers a method from the file that the owner of a session has opened: its answers are those of every other process.
pub fn answer_from_reader(
    home: &Home,
    reader: SessionReader,
    method: Method,
    params: Value,
) -> Result<Value, ClientError> {
    StoredSession::new(home.clone(), reader).answer(method, params)
}

/// What a document about a session shows besides its log.
#[derive(Debug, Clone)]
pub struct SessionSnapshot {
    /// The session.
    pub session: SessionView,
    /// Its tasks, also those that were removed.
    pub tasks: Vec<TaskView>,
    /// Its todos.
    pub todos: Vec<TodoRow>,
}

impl SessionSnapshot {
    /// The snapshot after these events, which are not in a file that can be read.
    pub fn after_events(home: &Home, id: SessionId, events: &[Envelope]) -> Result<SessionSnapshot, StoreError> {
        SessionSnapshot::read(&StoredSession::from_events(home, id, events)?)
    }

    fn read(stored: &StoredSession) -> Result<SessionSnapshot, StoreError> {
        Ok(SessionSnapshot {
            session: stored.view()?,
            tasks: stored.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() })?.tasks,
            todos: stored.todo_rows()?,
        })
    }
}

/// What a report about a session adds up.
#[derive(Debug, Clone)]
pub struct SessionTotals {
    /// The session.
    pub session: SessionView,
    /// Everything that was spent, oldest first.
    pub spendings: Vec<TaskSpending>,
    /// The tasks, oldest first.
    pub tasks: Vec<TaskView>,
}

/// A session with some of its tasks.
#[derive(Debug, Clone)]
pub struct SessionTaskList {
    /// The session.
    pub session: SessionView,
    /// The tasks that were asked for, oldest first.
    pub tasks: Vec<TaskView>,
    /// The asks that wait for a decision, oldest first.
    pub open_asks: Vec<AskView>,
}

impl SessionHandle {
    /// Checks that the session's file can be read.
    pub fn check_readable(&self) -> Result<(), StoreError> {
        self.stored().map(drop)
    }

    /// The process that runs the session now.
    pub fn owner_pid(&self) -> Result<Option<u32>, StoreError> {
        self.stored()?.owner()
    }

    /// The session.
    pub fn view(&self) -> Result<SessionView, StoreError> {
        self.stored()?.view()
    }

    /// The session with its tasks and todos.
    pub fn snapshot(&self) -> Result<SessionSnapshot, StoreError> {
        SessionSnapshot::read(&self.stored()?)
    }

    /// What a report about the session adds up, in one reading of the file.
    pub fn totals(&self) -> Result<SessionTotals, StoreError> {
        let stored = self.stored()?;
        Ok(SessionTotals {
            session: stored.view()?,
            spendings: stored.spendings(Timestamp(0))?,
            tasks: stored.tasks(&TasksParams::all_tasks())?.tasks,
        })
    }

    /// One page of the session's tasks, oldest first.
    pub fn tasks(&self, params: &TasksParams) -> Result<TasksPage, StoreError> {
        self.stored()?.tasks(params)
    }

    /// One page of the session's tasks with what a list shows of the session besides, in one reading of the file.
    pub fn task_list(&self, params: &TasksParams) -> Result<SessionTaskList, StoreError> {
        let stored = self.stored()?;
        Ok(SessionTaskList {
            session: stored.view()?,
            tasks: stored.tasks(params)?.tasks,
            open_asks: stored.open_asks()?,
        })
    }

    /// One task; none if there is no such task.
    pub fn task(&self, task: TaskId) -> Result<Option<TaskView>, StoreError> {
        self.stored()?.task(task)
    }

    /// The full record of one task; none if there is no such task.
    pub fn record(&self, task: TaskId) -> Result<Option<TaskRecord>, StoreError> {
        self.stored()?.record(task)
    }

    /// A command's output so far, or an agent's latest result, clipped.
    pub fn output(&self, task: &TaskView) -> String {
        crate::task_output(self.home(), self.id(), task)
    }

    /// The tool call that started each of these tasks; none if the user started it.
    pub fn starting_calls(&self, tasks: &[TaskId]) -> Result<Vec<Option<CallId>>, StoreError> {
        let stored = self.stored()?;
        tasks.iter().map(|task| stored.starting_call(*task)).collect()
    }

    /// One page of the todos, in the order they were written.
    pub fn todos(&self, params: &TodosParams) -> Result<TodosPage, StoreError> {
        self.stored()?.todos(params)
    }

    /// The asks that wait for a decision, oldest first.
    pub fn open_asks(&self) -> Result<Vec<AskView>, StoreError> {
        self.stored()?.open_asks()
    }

    /// All asks, oldest first: those that wait, and those that were decided or withdrawn.
    pub fn all_asks(&self) -> Result<Vec<AskView>, StoreError> {
        self.stored()?.all_asks()
    }

    /// The number of an ask in the session; none if there is no such ask.
    pub fn ask_number(&self, ask: &AskId) -> Result<Option<u64>, StoreError> {
        self.stored()?.ask_number(ask)
    }

    /// The decisions that wait for the next owner, oldest first. It applies the first one on each ask.
    pub fn queued_decisions(&self) -> Result<Vec<(AskId, AskDecision)>, StoreError> {
        self.stored()?.queued_decisions()
    }

    /// Whether commands wait for the next owner.
    pub fn has_queued_commands(&self) -> Result<bool, StoreError> {
        self.stored()?.has_queued_commands()
    }

    /// Everything that was spent on turns that began at `since` or later, oldest first.
    pub fn spendings(&self, since: Timestamp) -> Result<Vec<TaskSpending>, StoreError> {
        self.stored()?.spendings(since)
    }

    /// The agents and commands that are at work besides the root.
    pub fn background_work(&self) -> Result<BackgroundWork, StoreError> {
        self.stored()?.background_work()
    }

    /// The session's plan, if it has one.
    pub fn plan(&self) -> std::io::Result<Option<String>> {
        store::plan::read(self.home(), self.id())
    }

    /// The events after `seq`, at most `limit` of them.
    pub fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Envelope>, StoreError> {
        self.stored()?.events_after(seq, limit)
    }

    /// Every event of one task.
    pub fn task_events(&self, task: TaskId) -> Result<Vec<Envelope>, StoreError> {
        self.stored()?.task_events(task)
    }

    /// How the latest fleet stands; none if the session never had one.
    pub fn latest_fleet(&self) -> Result<Option<LatestFleet>, StoreError> {
        self.stored()?.latest_fleet()
    }

    /// The latest fleet and its progress; none if the session never had one.
    pub fn fleet_status(&self) -> Result<Option<FleetStatus>, StoreError> {
        self.stored()?.fleet_status()
    }
}
