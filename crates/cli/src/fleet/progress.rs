//! The progress of a fleet, read from the session's file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use protocol::api::{TaskView, TasksParams, TodoView, TodosParams};
use protocol::{Event, FleetConfig, FleetEnd, SessionId, TaskId, TodoId, TodoStatus};
use serde::Serialize;
use store::{SessionReader, StoreError};

use crate::money::Money;
use crate::todos::{AwaitingDecision, TodoMark};

/// The number of events read per page.
const PAGE_SIZE: usize = 1_000;

/// The progress of a fleet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FleetProgress {
    pub(super) session: SessionId,
    pub(super) terms: FleetConfig,
    /// How the fleet ended; `None` while it has not.
    pub(super) end: Option<FleetEnd>,
    /// The process that runs the fleet now.
    pub(super) owner_pid: Option<u32>,
    pub(super) todos: Vec<TodoLine>,
}

/// A todo with the totals of all its attempts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TodoLine {
    pub(super) id: TodoId,
    pub(super) title: String,
    pub(super) status: TodoStatus,
    /// Whether its worker waits for the user's decision.
    pub(super) needs_you: bool,
    /// Whether it is in progress without a worker.
    interrupted: bool,
    pub(super) attempts: u32,
    depends_on: Vec<TodoId>,
    /// Why it is blocked, or the error of its last attempt.
    pub(super) reason: Option<String>,
    /// The task that worked on it last, and its result.
    pub(super) task: Option<String>,
    result: Option<String>,
    pub(super) duration_ms: u64,
    turns: u64,
    pub(super) tokens: u64,
    /// In dollars; null when some of the usage has no price.
    pub(super) cost_usd: Money,
}

impl FleetProgress {
    /// Reads the progress; `None` if the session never had a fleet.
    pub(super) fn read(reader: &SessionReader, session: SessionId) -> Result<Option<FleetProgress>, StoreError> {
        let FleetLog { latest: Some((terms, end)), claims } = FleetLog::read(reader)? else { return Ok(None) };
        let tasks = reader.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() })?.tasks;
        let tree = TaskTree::of(&tasks);
        let awaiting = AwaitingDecision::read(reader)?;
        let line = |row: TodoView| {
            let workers = claims.get(&row.id).map(Vec::as_slice).unwrap_or_default();
            let needs_you = workers.iter().any(|worker| awaiting.contains(*worker));
            TodoLine { needs_you, ..TodoLine::of(row, &tree.subtree(workers)) }.normalized()
        };
        let todos = reader.todos_page(&TodosParams::all_todos())?.todos.into_iter().map(line).collect();
        let owner_pid = reader.session_view()?.owner_pid;
        Ok(Some(FleetProgress { session, terms, end, owner_pid, todos }))
    }

    /// The number of todos with this status.
    pub(super) fn count(&self, status: TodoStatus) -> usize {
        self.todos.iter().filter(|line| line.status == status).count()
    }
}

impl TodoLine {
    fn of(row: TodoView, tasks: &[&TaskView]) -> TodoLine {
        let last = row.task.as_deref().and_then(|id| tasks.iter().find(|task| task.id.to_string() == id));
        let micros = tasks.iter().map(|task| task.cost_micros).sum();
        TodoLine {
            status: row.status,
            needs_you: false,
            interrupted: row.interrupted,
            attempts: row.attempts,
            depends_on: row.depends_on,
            reason: row.reason,
            result: last.and_then(|task| task.result.clone()),
            duration_ms: total_duration(tasks).as_millis().try_into().unwrap_or(u64::MAX),
            turns: tasks.iter().map(|task| task.turns).sum(),
            tokens: tasks.iter().map(|task| task.usage.total()).sum(),
            cost_usd: Money::new(micros, tasks.iter().all(|task| task.priced)),
            id: row.id,
            title: row.title,
            task: row.task,
        }
    }
}

impl TodoLine {
    /// Clears `needs_you` unless a worker is at work on the todo.
    fn normalized(self) -> TodoLine {
        let is_at_work = self.status == TodoStatus::InProgress && !self.interrupted;
        TodoLine { needs_you: self.needs_you && is_at_work, ..self }
    }

    /// The status as one word.
    pub(super) fn status_label(&self) -> &'static str {
        match (self.needs_you, self.interrupted) {
            (true, _) => TodoMark::NeedsYou.label(),
            (false, true) => TodoView::INTERRUPTED,
            (false, false) => self.status.as_str(),
        }
    }
}

/// The total duration of all attempts, without the gaps between them.
fn total_duration(tasks: &[&TaskView]) -> Duration {
    let run_time = |task: &&&TaskView| Some(task.ended_at.unwrap_or(task.updated_at).since(task.started_at?));
    let is_worker = |task: &&&TaskView| task.depth == 1;
    tasks.iter().filter(is_worker).filter_map(|task| run_time(&task)).sum()
}

/// The tasks of a session with their children.
struct TaskTree<'a> {
    tasks: HashMap<TaskId, &'a TaskView>,
    children: HashMap<TaskId, Vec<TaskId>>,
}

impl<'a> TaskTree<'a> {
    fn of(tasks: &'a [TaskView]) -> TaskTree<'a> {
        let mut children: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
        for task in tasks {
            if let Some(parent) = task.parent {
                children.entry(parent).or_default().push(task.id);
            }
        }
        TaskTree { tasks: tasks.iter().map(|task| (task.id, task)).collect(), children }
    }

    /// These tasks and their descendants, each once.
    fn subtree(&self, roots: &[TaskId]) -> Vec<&'a TaskView> {
        let mut unvisited: Vec<TaskId> = roots.to_vec();
        let (mut seen, mut tasks) = (HashSet::new(), Vec::new());
        while let Some(id) = unvisited.pop() {
            if seen.insert(id) {
                tasks.extend(self.tasks.get(&id));
                unvisited.extend(self.children.get(&id).into_iter().flatten());
            }
        }
        tasks
    }
}

/// The fleet events of a session.
#[derive(Default)]
struct FleetLog {
    /// The latest fleet and its end.
    latest: Option<(FleetConfig, Option<FleetEnd>)>,
    /// The tasks that worked on each todo.
    claims: BTreeMap<TodoId, Vec<TaskId>>,
}

impl FleetLog {
    fn read(reader: &SessionReader) -> Result<FleetLog, StoreError> {
        let (mut log, mut seq) = (FleetLog::default(), 0);
        loop {
            let page = reader.events_after(seq, PAGE_SIZE)?;
            let Some(last) = page.last() else { return Ok(log) };
            seq = last.seq;
            page.into_iter().for_each(|envelope| log.apply(envelope.entry.task, envelope.entry.event));
        }
    }

    fn apply(&mut self, task: TaskId, event: Event) {
        match (event, &mut self.latest) {
            (Event::FleetBegan(terms), latest) => *latest = Some((terms, None)),
            (Event::FleetEnded { end }, Some((_, ended))) => *ended = Some(end),
            (Event::TodoClaimed { todo, .. }, _) => self.claims.entry(todo).or_default().push(task),
            _other => {}
        }
    }
}
