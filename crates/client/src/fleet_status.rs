//! The progress of a session's latest fleet, read from the session's file.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use host::{Clock, SystemClock};
use protocol::api::{FleetStatus, FleetTodoView, TaskView, TasksParams, TodoView, TodosParams};
use protocol::{
    Event, FleetConfig, FleetEnd, FleetStopReason, LogEntry, MergeSummary, TaskId, TaskState, Timestamp, TodoId,
    TodoStatus,
};
use store::StoreError;

use crate::{SessionHandle, StoredSession};

/// The number of events read per page.
const PAGE_SIZE: usize = 1_000;

/// How the latest fleet of a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatestFleet {
    /// It has not ended.
    Unfinished,
    /// It ended.
    Ended(FleetEnd),
}

impl StoredSession {
    /// How the latest fleet stands, from the root's events; none if the session never had one. A request to stop it that
    /// waits for the next owner counts: that owner stops it before anything else.
    pub(crate) fn latest_fleet(&self) -> Result<Option<LatestFleet>, StoreError> {
        let params = TasksParams { all: true, ..TasksParams::root() };
        let Some(root) = self.tasks(&params)?.tasks.first().map(|root| root.id) else { return Ok(None) };
        let state_after = |event: &Event| match event {
            Event::FleetBegan(_) => Some(LatestFleet::Unfinished),
            Event::FleetEnded { end, .. } => Some(LatestFleet::Ended(*end)),
            _other => None,
        };
        let log = self.task_events(root)?;
        Ok(match log.iter().rev().find_map(|envelope| state_after(&envelope.entry.event)) {
            Some(LatestFleet::Unfinished) if self.has_queued_fleet_stop()? => {
                Some(LatestFleet::Ended(FleetEnd::Stopped))
            }
            latest => latest,
        })
    }

    /// The latest fleet and its progress; none if the session never had one.
    pub(crate) fn fleet_status(&self) -> Result<Option<FleetStatus>, StoreError> {
        let log = FleetLog::read(self)?;
        let Some(LoggedFleet { terms, end, merged }) = log.latest.clone() else { return Ok(None) };
        let (end, stop_reason) = match end {
            Some((end, why)) => (Some(end), why),
            None if self.has_queued_fleet_stop()? => (Some(FleetEnd::Stopped), None),
            None => (None, None),
        };
        let owner_pid = self.owner()?;
        let at_work_until = owner_pid.map_or(log.last_event_at, |_pid| Some(SystemClock.now()));
        let times = WorkTimes { log: &log, at_work_until };
        let tasks = self.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() })?.tasks;
        let tree = TaskTree::of(&tasks);
        let asking = AskingTasks::read(self)?;
        let view = |todo: TodoView| {
            let workers = log.claims.get(&todo.id).map(Vec::as_slice).unwrap_or_default();
            let is_asking = workers.iter().any(|worker| asking.contains(*worker));
            todo_view(todo, is_asking, &tree.subtree(workers), &times)
        };
        let todos: Vec<FleetTodoView> = self.todos(&TodosParams::all_todos())?.todos.into_iter().map(view).collect();
        let all_tokens: u64 = log.tokens.values().sum();
        Ok(Some(FleetStatus {
            session: self.id(),
            terms,
            end,
            stop_reason,
            merged,
            owner_pid,
            other_tokens: all_tokens.saturating_sub(todos.iter().map(|todo| todo.tokens).sum()),
            todos,
        }))
    }
}

/// The tasks that wait for the user's decision, and their ancestors.
#[derive(Debug, Default)]
pub struct AskingTasks(BTreeSet<TaskId>);

impl AskingTasks {
    /// Reads the tasks that wait in a session now.
    pub fn of_session(session: &SessionHandle) -> Result<AskingTasks, StoreError> {
        AskingTasks::read(&session.stored()?)
    }

    pub(crate) fn read(stored: &StoredSession) -> Result<AskingTasks, StoreError> {
        let mut asking = BTreeSet::new();
        for ask in stored.open_asks()? {
            let mut next = Some(ask.task);
            while let Some(task) = next.filter(|task| asking.insert(*task)) {
                next = stored.task(task)?.and_then(|view| view.parent);
            }
        }
        Ok(AskingTasks(asking))
    }

    /// Whether a task or one of its descendants waits.
    pub fn contains(&self, task: TaskId) -> bool {
        self.0.contains(&task)
    }
}

impl FromIterator<TaskId> for AskingTasks {
    fn from_iter<I: IntoIterator<Item = TaskId>>(tasks: I) -> AskingTasks {
        AskingTasks(tasks.into_iter().collect())
    }
}

fn todo_view(todo: TodoView, is_asking: bool, tasks: &[&TaskView], times: &WorkTimes<'_>) -> FleetTodoView {
    let log = times.log;
    let last = todo.task.as_deref().and_then(|id| tasks.iter().find(|task| task.id.to_string() == id));
    FleetTodoView {
        reused: todo.status == TodoStatus::Done && log.reused.contains(&todo.id),
        redo_reason: log.redo_reasons.get(&todo.id).cloned(),
        needs_you: is_asking && todo.status == TodoStatus::InProgress && !todo.interrupted,
        result: last.and_then(|task| task.result.clone()),
        duration_ms: times.total(tasks).as_millis().try_into().unwrap_or(u64::MAX),
        turns: tasks.iter().map(|task| task.turns).sum(),
        tokens: tasks.iter().filter_map(|task| log.tokens.get(&task.id)).sum(),
        cost_micros: tasks.iter().map(|task| task.cost_micros).sum(),
        priced: tasks.iter().all(|task| task.priced),
        todo,
    }
}

/// How long tasks worked.
struct WorkTimes<'a> {
    log: &'a FleetLog,
    /// Until when the tasks that are at work, or were when their process died, are known to have worked.
    at_work_until: Option<Timestamp>,
}

impl WorkTimes<'_> {
    /// The total duration of all attempts of workers, without the times between them.
    fn total(&self, tasks: &[&TaskView]) -> Duration {
        let workers = tasks.iter().filter(|task| task.depth == 1);
        let run_time = |task: &&TaskView| {
            let (from, until) = (task.started_at?, self.end_of(task.id, &task.state, task.ended_at, task.updated_at));
            Some(working_time(from, until.max(from), &self.log.gaps))
        };
        workers.filter_map(run_time).sum()
    }

    /// The end of a task's work so far. Its row changes only with its state.
    fn end_of(&self, id: TaskId, state: &TaskState, ended_at: Option<Timestamp>, changed_at: Timestamp) -> Timestamp {
        let was_at_work =
            matches!(state, TaskState::Running | TaskState::Interrupted) && !self.log.interrupted.contains(&id);
        match (ended_at, self.at_work_until) {
            (Some(ended_at), _) => ended_at,
            (None, Some(until)) if was_at_work => until,
            (None, _) => changed_at,
        }
    }
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

/// A fleet, as the log has it.
#[derive(Clone)]
struct LoggedFleet {
    terms: FleetConfig,
    /// Its end, and why it was stopped.
    end: Option<(FleetEnd, Option<FleetStopReason>)>,
    /// How the work of its isolated workers was merged.
    merged: Option<MergeSummary>,
}

/// The fleet events of a session.
#[derive(Default)]
struct FleetLog {
    latest: Option<LoggedFleet>,
    /// The tasks that worked on each todo.
    claims: BTreeMap<TodoId, Vec<TaskId>>,
    /// The todos whose latest result was reused.
    reused: BTreeSet<TodoId>,
    /// Why todos are done again although an earlier fleet did them.
    redo_reasons: BTreeMap<TodoId, String>,
    /// The tokens of each task's requests.
    tokens: HashMap<TaskId, u64>,
    /// The tasks that an owner found at work when it took over, and that have not continued.
    interrupted: HashSet<TaskId>,
    gaps: Vec<OwnerGap>,
    last_event_at: Option<Timestamp>,
}

impl FleetLog {
    fn read(stored: &StoredSession) -> Result<FleetLog, StoreError> {
        let (mut log, mut seq) = (FleetLog::default(), 0);
        loop {
            let page = stored.events_after(seq, PAGE_SIZE)?;
            let Some(last) = page.last() else { return Ok(log) };
            seq = last.seq;
            page.into_iter().for_each(|envelope| log.apply(envelope.entry));
        }
    }

    fn apply(&mut self, LogEntry { task, at, event }: LogEntry) {
        let previous = self.last_event_at.replace(at).unwrap_or(at);
        match &event {
            Event::TaskInterrupted => drop(self.interrupted.insert(task)),
            _other => drop(self.interrupted.remove(&task)),
        }
        match (event, &mut self.latest) {
            (Event::SessionAdopted { .. }, _) => self.gaps.push(OwnerGap { from: previous, until: at }),
            (Event::FleetBegan(terms), latest) => *latest = Some(LoggedFleet { terms, end: None, merged: None }),
            (Event::FleetEnded { end, why }, Some(fleet)) => fleet.end = Some((end, why)),
            (Event::FleetMerged(summary), Some(fleet)) => fleet.merged = Some(*summary),
            (Event::TodoClaimed { todo, redo_reason, .. }, _) => {
                self.reused.remove(&todo);
                match redo_reason {
                    Some(reason) => drop(self.redo_reasons.insert(todo.clone(), reason)),
                    None => drop(self.redo_reasons.remove(&todo)),
                }
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
        Event::TodoClaimed { todo: "a".into(), fence: 1, redo_reason: None }
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
    fn a_worker_whose_process_died_worked_until_the_last_event() {
        let task = TaskId::new(uuid::Uuid::nil());
        let ends = |log: &FleetLog, until, state| {
            let times = WorkTimes { log, at_work_until: Some(Timestamp(until)) };
            times.end_of(task, &state, None, Timestamp(3_000)).0
        };
        let killed = log(vec![(1_000, claimed()), (61_000, claimed())]);
        assert_eq!(ends(&killed, 61_000, TaskState::Interrupted), 61_000);
        assert_eq!(ends(&killed, 61_000, TaskState::Idle), 3_000);
        let adopted = log(vec![(1_000, claimed()), (3_000, Event::TaskInterrupted)]);
        assert_eq!(ends(&adopted, 90_000, TaskState::Interrupted), 3_000, "it has not continued");
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
