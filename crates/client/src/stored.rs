//! A session's file. Clients in other crates read it through their [`SessionHandle`](crate::SessionHandle).

use host::Home;
use protocol::api::{
    AskView, AsksParams, AsksResult, SessionCommand, SessionView, TaskRecord, TaskView, TasksPage, TasksParams,
    TodosPage, TodosParams,
};
use protocol::{AskDecision, AskId, CallId, Envelope, SessionId, TaskId, Timestamp};
use store::{SessionReader, StoreError, TaskSpending, TodoRow, plan};

use crate::BackgroundWork;
use crate::output::task_output;

/// A session's file, whether a process runs the session or not. Each answer is a consistent snapshot.
#[derive(Debug)]
pub(crate) struct StoredSession {
    home: Home,
    reader: SessionReader,
}

impl StoredSession {
    /// Opens the file of a session.
    pub(crate) fn open(home: &Home, id: SessionId) -> Result<StoredSession, StoreError> {
        Ok(StoredSession::new(home.clone(), SessionReader::open(home, id)?))
    }

    /// A session whose file is open already.
    pub(crate) fn new(home: Home, reader: SessionReader) -> StoredSession {
        StoredSession { home, reader }
    }

    /// The session of these events, which are not in a file that can be read.
    pub(crate) fn from_events(home: &Home, id: SessionId, events: &[Envelope]) -> Result<StoredSession, StoreError> {
        Ok(StoredSession::new(home.clone(), SessionReader::from_events(id, events)?))
    }

    /// The session.
    pub(crate) fn id(&self) -> SessionId {
        self.reader.id()
    }

    /// The folder of all sessions.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// The process that runs the session now.
    pub(crate) fn owner(&self) -> Result<Option<u32>, StoreError> {
        self.reader.live_owner()
    }

    /// The session, as clients see it.
    pub(crate) fn view(&self) -> Result<SessionView, StoreError> {
        self.reader.session_view()
    }

    /// One page of the session's tasks, oldest first.
    pub(crate) fn tasks(&self, params: &TasksParams) -> Result<TasksPage, StoreError> {
        self.reader.tasks(params)
    }

    /// One task; none if there is no such task.
    pub(crate) fn task(&self, task: TaskId) -> Result<Option<TaskView>, StoreError> {
        self.reader.task(task)
    }

    /// The full record of one task; none if there is no such task.
    pub(crate) fn record(&self, task: TaskId) -> Result<Option<TaskRecord>, StoreError> {
        self.reader.record(task)
    }

    /// A command's output so far, or an agent's latest result, clipped.
    pub(crate) fn output(&self, task: &TaskView) -> String {
        task_output(&self.home, self.id(), task)
    }

    /// The tool call that started a task; none if the user started it.
    pub(crate) fn starting_call(&self, task: TaskId) -> Result<Option<CallId>, StoreError> {
        self.reader.starting_call(task)
    }

    /// All todos, in the order they were written.
    pub(crate) fn todo_rows(&self) -> Result<Vec<TodoRow>, StoreError> {
        self.reader.todos()
    }

    /// One page of the todos, in the order they were written.
    pub(crate) fn todos(&self, params: &TodosParams) -> Result<TodosPage, StoreError> {
        self.reader.todos_page(params)
    }

    /// The asks that wait for a decision, oldest first.
    pub(crate) fn open_asks(&self) -> Result<Vec<AskView>, StoreError> {
        self.reader.asks(false)
    }

    /// All asks, oldest first: those that wait, and those that were decided or withdrawn.
    pub(crate) fn all_asks(&self) -> Result<Vec<AskView>, StoreError> {
        self.reader.asks(true)
    }

    /// One page of asks.
    pub(crate) fn asks(&self, params: &AsksParams) -> Result<AsksResult, StoreError> {
        self.reader.asks_page(params)
    }

    /// The number of an ask in the session; none if there is no such ask.
    pub(crate) fn ask_number(&self, ask: &AskId) -> Result<Option<u64>, StoreError> {
        self.reader.ask_number(ask)
    }

    /// The decisions that wait for the next owner, oldest first. It applies the first one on each ask.
    pub(crate) fn queued_decisions(&self) -> Result<Vec<(AskId, AskDecision)>, StoreError> {
        let decision = |(_row, command)| match command {
            SessionCommand::Decide(params) => Some((params.ask, params.decision)),
            SessionCommand::Send(_)
            | SessionCommand::Interrupt
            | SessionCommand::Stop
            | SessionCommand::StopTask(_)
            | SessionCommand::StopFleet
            | SessionCommand::Promote(_)
            | SessionCommand::Forget(_)
            | SessionCommand::SetMode(_) => None,
        };
        Ok(self.reader.pending_commands()?.into_iter().filter_map(decision).collect())
    }

    /// Whether the next owner stops the session's fleet before anything else.
    pub(crate) fn has_queued_fleet_stop(&self) -> Result<bool, StoreError> {
        Ok(self.reader.pending_commands()?.iter().any(|(_row, command)| *command == SessionCommand::StopFleet))
    }

    /// Whether commands wait for the next owner.
    pub(crate) fn has_queued_commands(&self) -> Result<bool, StoreError> {
        Ok(!self.reader.pending_commands()?.is_empty())
    }

    /// Everything that was spent on turns that began at `since` or later, oldest first.
    pub(crate) fn spendings(&self, since: Timestamp) -> Result<Vec<TaskSpending>, StoreError> {
        self.reader.spendings(since)
    }

    /// The agents and commands that are at work besides the root.
    pub(crate) fn background_work(&self) -> Result<BackgroundWork, StoreError> {
        Ok(BackgroundWork::of(self.tasks(&TasksParams::all_tasks())?.tasks))
    }

    /// The session's plan, if it has one.
    pub(crate) fn plan(&self) -> std::io::Result<Option<String>> {
        plan::read(&self.home, self.id())
    }

    /// The events after `seq`, at most `limit` of them.
    pub(crate) fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Envelope>, StoreError> {
        self.reader.events_after(seq, limit)
    }

    /// Every event of one task.
    pub(crate) fn task_events(&self, task: TaskId) -> Result<Vec<Envelope>, StoreError> {
        self.reader.task_events(task)
    }
}
