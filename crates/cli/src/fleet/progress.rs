//! The progress of a fleet, read from the session's file.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use client::{StoreError, StoredSession};
use protocol::api::{TaskView, TasksParams, TodoView, TodosParams};
use protocol::{Event, FleetConfig, FleetEnd, LogEntry, SessionId, TaskId, Timestamp, TodoId, TodoStatus};
use serde::Serialize;

use crate::money::Money;
use crate::todos::{AwaitingDecision, TodoMark};

/// The number of events read per page.
const PAGE_SIZE: usize = 1_000;

/// The label of a todo that is done because an earlier result is reused.
pub(super) const REUSED_LABEL: &str = "reused";

/// The progress of a fleet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetProgress {
    pub(super) session: SessionId,
    pub(super) terms: FleetConfig,
    /// How the fleet ended; `None` while it has not.
    pub(super) end: Option<FleetEnd>,
    /// The process that runs the fleet now.
    pub(super) owner_pid: Option<u32>,
    pub(super) todos: Vec<TodoLine>,
    /// The tokens of the whole session.
    #[serde(skip)]
    session_tokens: u64,
}

/// A todo with the totals of all its attempts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TodoLine {
    pub(super) id: TodoId,
    pub(super) title: String,
    pub(super) status: TodoStatus,
    #[serde(skip)]
    mark: TodoMark,
    /// Whether it is done because an earlier result is reused.
    pub(super) reused: bool,
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
    /// The tokens of all requests, also of those without an answer.
    pub(super) tokens: u64,
    /// In dollars; null when some of the usage has no price.
    pub(super) cost_usd: Money,
}

impl FleetProgress {
    /// Reads the progress; `None` if the session never had a fleet.
    pub(crate) fn read(reader: &StoredSession, session: SessionId) -> Result<Option<FleetProgress>, StoreError> {
        let log = FleetLog::read(reader)?;
        let Some((terms, end)) = log.latest.clone() else { return Ok(None) };
        let tasks = reader.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() })?.tasks;
        let tree = TaskTree::of(&tasks);
        let awaiting = AwaitingDecision::read(reader)?;
        let line = |row: TodoView| {
            let workers = log.claims.get(&row.id).map(Vec::as_slice).unwrap_or_default();
            let mark = TodoMark::of(&row).with_ask(workers.iter().any(|worker| awaiting.contains(*worker)));
            TodoLine::new(row, mark, &tree.subtree(workers), &log)
        };
        let todos = reader.todos(&TodosParams::all_todos())?.todos.into_iter().map(line).collect();
        let owner_pid = reader.view()?.owner_pid;
        let session_tokens = log.tokens.values().sum();
        Ok(Some(FleetProgress { session, terms, end, owner_pid, todos, session_tokens }))
    }

    /// The number of todos with this status.
    pub(super) fn count(&self, status: TodoStatus) -> usize {
        self.todos.iter().filter(|line| line.status == status).count()
    }

    /// Whether every todo reuses an earlier result.
    pub(super) fn is_all_reused(&self) -> bool {
        !self.todos.is_empty() && self.todos.iter().all(|line| line.reused)
    }

    /// The tokens that no todo's row contains: those of the main agent and of agents that merge.
    pub(super) fn other_tokens(&self) -> u64 {
        self.session_tokens.saturating_sub(self.todos.iter().map(|line| line.tokens).sum())
    }
}

impl TodoLine {
    fn new(row: TodoView, mark: TodoMark, tasks: &[&TaskView], log: &FleetLog) -> TodoLine {
        let last = row.task.as_deref().and_then(|id| tasks.iter().find(|task| task.id.to_string() == id));
        let micros = tasks.iter().map(|task| task.cost_micros).sum();
        TodoLine {
            status: row.status,
            mark,
            reused: mark == TodoMark::Done && log.reused.contains(&row.id),
            needs_you: mark == TodoMark::NeedsYou,
            interrupted: row.interrupted,
            attempts: row.attempts,
            depends_on: row.depends_on,
            reason: row.reason,
            result: last.and_then(|task| task.result.clone()),
            duration_ms: total_duration(tasks, &log.gaps).as_millis().try_into().unwrap_or(u64::MAX),
            turns: tasks.iter().map(|task| task.turns).sum(),
            tokens: tasks.iter().filter_map(|task| log.tokens.get(&task.id)).sum(),
            cost_usd: Money::new(micros, tasks.iter().all(|task| task.priced)),
            id: row.id,
            title: row.title,
            task: row.task,
        }
    }

    /// The state in the words of every other view.
    pub(super) fn status_label(&self) -> &'static str {
        if self.reused { REUSED_LABEL } else { self.mark.label() }
    }
}

/// The total duration of all attempts, without the times between them.
fn total_duration(tasks: &[&TaskView], gaps: &[OwnerGap]) -> Duration {
    let run_time =
        |task: &&&TaskView| Some(working_time(task.started_at?, task.ended_at.unwrap_or(task.updated_at), gaps));
    let is_worker = |task: &&&TaskView| task.depth == 1;
    tasks.iter().filter(is_worker).filter_map(|task| run_time(&task)).sum()
}

/// A time without a process that ran the session: from its last event to its adoption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OwnerGap {
    from: Timestamp,
    until: Timestamp,
}

/// The time between two moments in which a process ran the session.
fn working_time(from: Timestamp, until: Timestamp, gaps: &[OwnerGap]) -> Duration {
    let idle: Duration = gaps.iter().map(|gap| until.min(gap.until).since(from.max(gap.from))).sum();
    until.since(from).saturating_sub(idle)
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
    /// The todos whose latest result was reused.
    reused: BTreeSet<TodoId>,
    /// The tokens of each task's requests.
    tokens: HashMap<TaskId, u64>,
    gaps: Vec<OwnerGap>,
    last_event_at: Option<Timestamp>,
}

impl FleetLog {
    fn read(reader: &StoredSession) -> Result<FleetLog, StoreError> {
        let (mut log, mut seq) = (FleetLog::default(), 0);
        loop {
            let page = reader.events_after(seq, PAGE_SIZE)?;
            let Some(last) = page.last() else { return Ok(log) };
            seq = last.seq;
            page.into_iter().for_each(|envelope| log.apply(envelope.entry));
        }
    }

    fn apply(&mut self, LogEntry { task, at, event }: LogEntry) {
        let previous = self.last_event_at.replace(at).unwrap_or(at);
        match (event, &mut self.latest) {
            (Event::SessionAdopted { .. }, _) => self.gaps.push(OwnerGap { from: previous, until: at }),
            (Event::FleetBegan(terms), latest) => *latest = Some((terms, None)),
            (Event::FleetEnded { end }, Some((_, ended))) => *ended = Some(end),
            (Event::TodoClaimed { todo, .. }, _) => {
                self.reused.remove(&todo);
                self.claims.entry(todo).or_default().push(task);
            }
            (Event::TodoDone { todo, fence: None, .. }, _) => drop(self.reused.insert(todo)),
            (Event::TurnAnswered { cost, .. } | Event::TurnFailed { cost, .. }, _) => {
                *self.tokens.entry(task).or_default() += cost.tokens;
            }
            _other => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Cost, Fence, ModelFault, StopReason, Turn, Usage};

    use super::*;

    fn log(events: Vec<(u64, Event)>) -> FleetLog {
        let mut log = FleetLog::default();
        let task = TaskId::new(uuid::Uuid::nil());
        events.into_iter().for_each(|(at, event)| log.apply(LogEntry { task, at: Timestamp(at), event }));
        log
    }

    fn claimed() -> Event {
        Event::TodoClaimed { todo: "a".into(), fence: 1 }
    }

    #[test]
    fn time_without_a_process_is_not_working_time() {
        let config = serde_json::json!({"cwd": "/", "model": "m", "permission": "default", "version": "1"});
        let config = serde_json::from_value(config).unwrap();
        let adopted = Event::SessionAdopted { fence: Fence(2), config };
        let gaps = log(vec![(1_000, claimed()), (4_000, Event::TaskInterrupted), (60_000, adopted)]).gaps;
        let worked = |from, until| working_time(Timestamp(from), Timestamp(until), &gaps).as_millis();
        assert_eq!(worked(1_000, 65_000), 8_000, "the attempt was interrupted");
        assert_eq!(worked(1_000, 3_000), 2_000, "it ended before");
        assert_eq!(worked(61_000, 65_000), 4_000, "it began after");
    }

    #[test]
    fn todo_is_reused_until_a_worker_claims_it() {
        let reused = Event::TodoDone { todo: "a".into(), fence: None, reused: None };
        assert!(log(vec![(1, reused.clone())]).reused.contains(&TodoId::from("a")));
        let done = Event::TodoDone { todo: "a".into(), fence: Some(1), reused: None };
        assert!(log(vec![(1, reused), (2, claimed()), (3, done)]).reused.is_empty());
    }

    #[test]
    fn tokens_of_requests_without_an_answer_count() {
        let (turn, cost) = (Turn(1), Cost { tokens: 6_357, micros: 0 });
        let failed =
            Event::TurnFailed { turn, fault: ModelFault::Interrupted, message: String::new(), cost, retry: None };
        let answered = Event::TurnAnswered {
            turn,
            content: Vec::new(),
            stop: StopReason::End,
            usage: Usage::default(),
            cost: Cost { tokens: 2_072, micros: 0 },
            model: "m".into(),
        };
        assert_eq!(log(vec![(1, failed), (2, answered)]).tokens.into_values().collect::<Vec<_>>(), [8_429]);
    }
}
