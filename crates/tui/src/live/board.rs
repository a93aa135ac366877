//! The state of a fleet, folded from a session's events.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use client::{LatestFleet, SessionHandle, SharedFiles, StoreError, TodoFiles};
use protocol::api::{TodoView, TodosParams};
use protocol::{
    AskId, CallId, Cost, Envelope, Event, FleetEnd, LogEntry, TaskId, TaskSpec, Timestamp, Todo, TodoId, TodoStatus,
};

use super::activity::{describe_activity, describe_ask};
use super::board_todos::BoardTodos;
use crate::todo_mark::TodoMark;

/// The number of events read per page.
const EVENTS_PER_PAGE: usize = 512;

/// The number of todos above which a graph is large.
const LARGE_GRAPH_TODOS: usize = 1_000;

/// The shortest duration of a single finished todo that the remaining time is estimated from.
const MIN_SINGLE_SAMPLE: Duration = Duration::from_secs(5);

/// The state of a fleet.
#[derive(Debug, Clone, Default)]
pub struct FleetBoard {
    pub(super) goal: String,
    pub(super) began_at: Option<Timestamp>,
    pub(super) ended: Option<(FleetEnd, Timestamp)>,
    /// Whether no living process runs the session.
    is_unowned: bool,
    /// The time of the last event.
    last_event_at: Timestamp,
    /// The cost of the whole session.
    pub(super) spent: Cost,
    /// Whether some of the cost has no price.
    pub(super) unpriced: bool,
    /// The main agent's activity, while it has one.
    pub(super) main_activity: Option<String>,
    items: BoardTodos,
    workers: BTreeMap<TaskId, BoardWorker>,
    /// The parent of each task.
    parents: BTreeMap<TaskId, TaskId>,
    root: Option<TaskId>,
    /// The largest number of todos worked on at once.
    max_workers: usize,
    /// The limit of todos worked on at once.
    parallel: Option<u32>,
    /// The total duration and the number of finished todos.
    finished_durations: (Duration, u32),
    next_order: u64,
    /// Open asks, with the task and call that each belongs to.
    asks: BTreeMap<AskId, (TaskId, CallId)>,
    /// The number of asks in the session so far.
    ask_count: u64,
    /// Todos that name the same files and do not depend on each other.
    shared_files: Vec<SharedFiles>,
}

/// A todo.
#[derive(Debug, Clone)]
pub(super) struct BoardTodo {
    order: u64,
    pub(super) title: String,
    pub(super) status: TodoStatus,
    /// Whether it is in progress without a worker.
    interrupted: bool,
    depends_on: Vec<TodoId>,
    files: Vec<String>,
    pub(super) reason: Option<String>,
    pub(super) merged: bool,
    /// Whether its latest result is an earlier one that is reused.
    reused: bool,
}

/// A task that works on a todo.
#[derive(Debug, Clone)]
pub(super) struct BoardWorker {
    pub(super) todo: TodoId,
    pub(super) since: Timestamp,
    pub(super) activity: String,
    pub(super) tokens: u64,
}

impl FleetBoard {
    /// Reads the board from a session's events up to the given one.
    pub fn read_until(session: &SessionHandle, last: u64) -> Result<FleetBoard, StoreError> {
        let (mut board, mut seq) = (FleetBoard::default(), 0);
        while seq < last {
            let page = session.events_after(seq, EVENTS_PER_PAGE)?;
            let Some(end) = page.last() else { break };
            seq = end.seq;
            page.iter().filter(|envelope| envelope.seq <= last).for_each(|envelope| board.apply(envelope));
        }
        Ok(board)
    }

    /// Reads the current board, and the number of the last event.
    pub fn read_now(session: &SessionHandle) -> Result<(FleetBoard, u64), StoreError> {
        let (mut board, mut seq) = (FleetBoard::default(), 0);
        loop {
            let page = session.events_after(seq, EVENTS_PER_PAGE)?;
            let Some(last) = page.last() else { break };
            seq = last.seq;
            page.iter().for_each(|envelope| board.apply(envelope));
        }
        board.sync_with_store(session)?;
        Ok((board, seq))
    }

    /// Replaces the todos with the stored rows: todos may have been edited while no process ran to log it. Also
    /// records whether a process runs the session.
    pub fn sync_with_store(&mut self, session: &SessionHandle) -> Result<(), StoreError> {
        let is_unowned = session.owner_pid()?.is_none();
        self.apply_todo_rows(session.todos(&TodosParams::all_todos())?.todos, is_unowned);
        // The user may have stopped the fleet since its process died.
        if self.is_interrupted()
            && let Some(LatestFleet::Ended(end)) = session.latest_fleet()?
        {
            self.ended = Some((end, self.last_event_at));
        }
        Ok(())
    }

    /// Applies rows that were already read.
    pub(super) fn apply_todo_rows(&mut self, rows: Vec<TodoView>, is_unowned: bool) {
        let mut previous = std::mem::take(&mut self.items);
        for (order, row) in (1..).zip(rows) {
            let (merged, reused) = previous.remove(&row.id).map_or((false, false), |item| (item.merged, item.reused));
            let TodoView { id, title, status, interrupted, reason, depends_on, files, .. } = row;
            let item = BoardTodo { order, title, status, interrupted, depends_on, files, reason, merged, reused };
            self.items.insert(id, item);
            self.next_order = order;
        }
        self.find_shared_files();
        let items = &self.items;
        let is_claimed =
            |worker: &BoardWorker| items.get(&worker.todo).is_some_and(|item| item.status == TodoStatus::InProgress);
        self.workers.retain(|_, worker| is_claimed(worker));
        self.is_unowned = is_unowned;
    }

    /// Whether there is neither a todo nor a fleet.
    pub fn is_empty(&self) -> bool {
        self.items.len() == 0 && self.began_at.is_none()
    }

    /// Whether a fleet is running.
    pub fn is_working(&self) -> bool {
        self.began_at.is_some() && self.ended.is_none() && !self.is_unowned
    }

    /// Whether the drawn state may still change.
    pub(super) fn is_live(&self) -> bool {
        self.ended.is_none() && !self.is_unowned
    }

    /// Whether a fleet has not ended but no process runs it.
    pub fn is_interrupted(&self) -> bool {
        self.began_at.is_some() && self.ended.is_none() && self.is_unowned
    }

    /// How the latest fleet ended, if it has.
    pub fn end(&self) -> Option<FleetEnd> {
        self.ended.map(|(end, _)| end)
    }

    /// Applies an event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let LogEntry { task, at, event } = &envelope.entry;
        self.record_cost(*task, event);
        self.track_asks(*task, event);
        if matches!(event, Event::SessionAdopted { .. }) {
            self.resume(at.since(self.last_event_at));
        }
        self.last_event_at = *at;
        match event {
            Event::FleetBegan(terms) => {
                let asks = (std::mem::take(&mut self.asks), self.ask_count);
                let (items, parents, root) = (std::mem::take(&mut self.items), self.parents.clone(), self.root);
                let (spent, unpriced, next) = (self.spent, self.unpriced, self.next_order);
                let (goal, parallel) = (terms.goal.clone(), terms.parallel);
                let (began_at, last_at) = (Some(*at), *at);
                let shared = std::mem::take(&mut self.shared_files);
                let kept = FleetBoard {
                    shared_files: shared,
                    items,
                    parents,
                    root,
                    spent,
                    unpriced,
                    next_order: next,
                    ..FleetBoard::default()
                };
                *self = FleetBoard { goal, parallel, began_at, last_event_at: last_at, ..kept };
                self.items.change_all(|item| {
                    if item.status == TodoStatus::InProgress {
                        item.reset_to_pending();
                    }
                });
                (self.asks, self.ask_count) = asks;
            }
            Event::FleetEnded { end, .. } => self.ended = Some((*end, *at)),
            Event::TodosChanged { changed, gone, .. } => {
                let mut shared_may_change = gone.iter().filter(|todo| self.items.remove(todo).is_some()).count() > 0;
                changed.iter().for_each(|todo| shared_may_change |= self.upsert_todo(todo));
                if shared_may_change {
                    self.find_shared_files();
                }
            }
            Event::TodoClaimed { todo, .. } => self.claim(*task, todo, *at),
            Event::TodoReturned { todo, failure, .. } => self.release(todo, TodoStatus::Pending, failure.clone()),
            Event::TodoDone { todo, fence, .. } => {
                if let (Some(worker), true) = (self.worker_on(todo), fence.is_some()) {
                    let duration = at.since(worker.since);
                    self.finished_durations = (self.finished_durations.0 + duration, self.finished_durations.1 + 1);
                }
                self.release(todo, TodoStatus::Done, None);
                self.items.change(todo, |item| item.reused = fence.is_none());
            }
            Event::TodoBlocked { todo, why } => self.release(todo, TodoStatus::Blocked, Some(why.to_string())),
            Event::TodoUnblocked { todo } => self.release(todo, TodoStatus::Pending, None),
            Event::WorkMerged { todo, .. } => self.items.change(todo, |item| item.merged = true),
            Event::TaskCreated(spec) => self.register_task(*task, spec),
            Event::ActivationEnded { .. } if self.root == Some(*task) => self.main_activity = None,
            other => self.record_activity(*task, other),
        }
    }

    /// The todos in the order they were written, with their marks.
    pub(super) fn items(&self) -> Vec<(&TodoId, &BoardTodo, TodoMark)> {
        let mut items: Vec<(&TodoId, &BoardTodo, TodoMark)> =
            self.items.iter().map(|(id, item)| (id, item, self.mark(item).with_ask(self.is_asking(id)))).collect();
        items.sort_by_key(|(_, item, _)| item.order);
        items
    }

    /// The number of done todos and of all todos.
    pub(super) fn done_and_total(&self) -> (usize, usize) {
        (self.items.done(), self.items.len())
    }

    /// The number of done todos whose results are reused.
    pub(super) fn reused_count(&self) -> usize {
        self.items.values().filter(|item| item.status == TodoStatus::Done && item.reused).count()
    }

    /// A todo's title, or an empty string if it is unknown.
    pub(super) fn title(&self, todo: &TodoId) -> &str {
        self.items.get(todo).map_or("", |item| &item.title)
    }

    /// The mark of a todo that has or had a worker.
    pub(super) fn mark_of(&self, todo: &TodoId) -> TodoMark {
        self.items.get(todo).map_or(TodoMark::AtWork, |item| self.mark(item)).with_ask(self.is_asking(todo))
    }

    /// The workers, the longest-running first.
    pub(super) fn workers(&self) -> Vec<&BoardWorker> {
        let mut workers: Vec<&BoardWorker> = self.workers.values().collect();
        workers.sort_by_key(|worker| worker.since);
        workers
    }

    /// Whether the worker of a todo waits for the user's decision.
    pub(super) fn is_asking(&self, todo: &TodoId) -> bool {
        self.asks.values().any(|(task, _)| self.todo_of(*task) == Some(todo))
    }

    /// Whether the main agent waits for the user's decision.
    pub(super) fn is_main_asking(&self) -> bool {
        self.asks.values().any(|(task, _)| Some(*task) == self.root)
    }

    /// Tracks which asks are open.
    fn track_asks(&mut self, task: TaskId, event: &Event) {
        match event {
            Event::AskOpened(ask) => {
                self.ask_count += 1;
                self.asks.insert(ask.id.clone(), (task, ask.call.clone()));
                let activity = format!("needs you ({}): {}", self.ask_count, describe_ask(&ask.subject));
                self.set_activity(self.worker_above(task).unwrap_or(task), activity);
            }
            Event::AskDecided { ask, .. } => drop(self.asks.remove(ask)),
            Event::CallAnswered { call, .. } => self.asks.retain(|_, asker| *asker != (task, call.clone())),
            _other => {}
        }
    }

    /// Todos that are marked as in progress although no worker has claimed them.
    pub(super) fn unclaimed_in_progress(&self) -> Vec<&TodoId> {
        let claimed: BTreeSet<&TodoId> = self.workers.values().map(|worker| &worker.todo).collect();
        let is_unclaimed =
            |id: &TodoId, item: &BoardTodo| item.status == TodoStatus::InProgress && !claimed.contains(id);
        self.items().into_iter().filter(|(id, item, _)| is_unclaimed(id, item)).map(|(id, _, _)| id).collect()
    }

    /// The time that durations are measured to: the clock stops while no process runs the session.
    pub(super) fn clock_time(&self, now: Timestamp) -> Timestamp {
        if self.is_unowned { self.last_event_at } else { now }
    }

    /// How long the fleet has been running.
    pub(super) fn elapsed(&self, now: Timestamp) -> Duration {
        let until = self.ended.map_or(self.clock_time(now), |(_, at)| at);
        self.began_at.map_or(Duration::ZERO, |began| until.since(began))
    }

    /// The estimated remaining time: the average duration of finished todos for each pending or running one. None while
    /// the user must decide something, since that may take any time.
    pub(super) fn time_left(&self, now: Timestamp) -> Option<Duration> {
        if self.ended.is_some() || self.is_unowned || !self.asks.is_empty() {
            return None;
        }
        let mean = self.mean_duration()?;
        let pending = self.items.values().filter(|item| item.status == TodoStatus::Pending).count();
        let running = self.workers.values().map(|worker| mean.saturating_sub(now.since(worker.since)));
        let work = running.sum::<Duration>() + mean.saturating_mul(u32::try_from(pending).unwrap_or(u32::MAX));
        let limit = self.parallel.map_or(self.max_workers, |parallel| usize::try_from(parallel).unwrap_or(usize::MAX));
        let workers = limit.min(pending + self.workers.len()).max(1);
        Some(work / u32::try_from(workers).unwrap_or(1)).filter(|left| left.as_secs() > 0)
    }

    /// The average duration of finished todos, if it says something about the others.
    fn mean_duration(&self) -> Option<Duration> {
        let (sum, count) = self.finished_durations;
        let mean = sum.checked_div(count)?;
        (count > 1 || mean >= MIN_SINGLE_SAMPLE).then_some(mean)
    }

    fn mark(&self, item: &BoardTodo) -> TodoMark {
        let done = |id: &TodoId| self.items.get(id).is_some_and(|item| item.status == TodoStatus::Done);
        TodoMark::new(item.status, item.depends_on.iter().all(done), item.interrupted)
    }

    /// Unfinished todos that may conflict.
    pub(super) fn conflicts(&self) -> &[SharedFiles] {
        &self.shared_files
    }

    /// Finds the unfinished todos that name the same files. Called only when that may have changed.
    fn find_shared_files(&mut self) {
        let mut items: Vec<(&TodoId, &BoardTodo)> = self.items.iter().collect();
        items.sort_by_key(|(_, item)| item.order);
        let named = items.into_iter().map(|(id, item)| TodoFiles {
            id,
            files: if item.status == TodoStatus::Done { &[] } else { &item.files },
            depends_on: &item.depends_on,
        });
        self.shared_files = SharedFiles::find(&named.collect::<Vec<_>>());
    }

    /// Updates shared files after a todo became done or undone.
    fn update_shared_files(&mut self, todo: &TodoId) {
        let is_shared = self.shared_files.iter().any(|shared| shared.todos.contains(todo));
        let is_done = self.items.get(todo).is_some_and(|item| item.status == TodoStatus::Done);
        match (is_done, is_shared) {
            (true, false) => {}
            // In a large graph, searching all of it for each todo would cost more than it is worth.
            (true, true) if self.items.len() > LARGE_GRAPH_TODOS => {
                self.shared_files.iter_mut().for_each(|shared| shared.todos.retain(|other| other != todo));
                self.shared_files.retain(|shared| shared.todos.len() > 1);
            }
            (true, true) | (false, _) => self.find_shared_files(),
        }
    }

    /// Inserts or updates a todo; returns whether the shared files may have changed.
    fn upsert_todo(&mut self, todo: &Todo) -> bool {
        let previous = self.items.get(&todo.id);
        let is_done = |status| status == TodoStatus::Done;
        let shared_may_change = previous.is_none_or(|item| {
            let done_changed = is_done(item.status) != is_done(todo.status);
            done_changed || item.files != todo.files || item.depends_on != todo.depends_on
        });
        let (order, merged, reused) = self.items.get(&todo.id).map_or_else(
            || {
                self.next_order += 1;
                (self.next_order, false, false)
            },
            |item| (item.order, item.merged, item.reused),
        );
        let item = BoardTodo {
            order,
            merged,
            reused,
            title: todo.title.clone(),
            status: todo.status,
            interrupted: false,
            depends_on: todo.depends_on.clone(),
            files: todo.files.clone(),
            reason: todo.reason.clone(),
        };
        self.items.insert(todo.id.clone(), item);
        shared_may_change
    }

    /// A process runs the session again: the gap without a process does not count as working time.
    fn resume(&mut self, gap: Duration) {
        self.is_unowned = false;
        self.items.change_all(|item| item.interrupted = false);
        self.began_at = self.began_at.map(|began| began.plus(gap));
        self.workers.values_mut().for_each(|worker| worker.since = worker.since.plus(gap));
    }

    fn claim(&mut self, task: TaskId, todo: &TodoId, at: Timestamp) {
        self.items.change(todo, |item| {
            (item.status, item.interrupted, item.reused) = (TodoStatus::InProgress, false, false);
        });
        let worker = BoardWorker { todo: todo.clone(), since: at, activity: "starting".into(), tokens: 0 };
        self.workers.insert(task, worker);
        self.max_workers = self.max_workers.max(self.workers.len());
    }

    fn release(&mut self, todo: &TodoId, status: TodoStatus, reason: Option<String>) {
        self.workers.retain(|_, worker| worker.todo != *todo);
        let done_before = self.items.done();
        let mut has_files = false;
        self.items.change(todo, |item| {
            (item.status, item.reason, item.interrupted) = (status, reason, false);
            has_files = !item.files.is_empty();
        });
        if has_files && self.items.done() != done_before {
            self.update_shared_files(todo);
        }
    }

    fn worker_on(&self, todo: &TodoId) -> Option<&BoardWorker> {
        self.workers.values().find(|worker| worker.todo == *todo)
    }

    fn register_task(&mut self, task: TaskId, spec: &TaskSpec) {
        match spec.parent {
            Some(parent) => {
                self.parents.insert(task, parent);
            }
            None => self.root = Some(task),
        }
    }

    /// Adds the cost of a turn to the session and to the worker that it belongs to.
    fn record_cost(&mut self, task: TaskId, event: &Event) {
        let cost = match event {
            Event::TurnAnswered { cost, .. } | Event::TurnFailed { cost, .. } => *cost,
            Event::TurnBegun { price, .. } => {
                self.unpriced |= price.is_none();
                return;
            }
            _other => return,
        };
        self.spent = self.spent.plus(cost);
        if let Some(worker) = self.worker_above(task).and_then(|worker| self.workers.get_mut(&worker)) {
            worker.tokens += cost.tokens;
        }
    }

    /// The todo that a task works on, if any.
    pub(super) fn todo_of(&self, task: TaskId) -> Option<&TodoId> {
        self.workers.get(&self.worker_above(task)?).map(|worker| &worker.todo)
    }

    /// The worker that a task belongs to: the task itself or an ancestor.
    fn worker_above(&self, mut task: TaskId) -> Option<TaskId> {
        while !self.workers.contains_key(&task) {
            task = *self.parents.get(&task)?;
        }
        Some(task)
    }

    /// Records the activity of a worker or of the main agent.
    fn record_activity(&mut self, task: TaskId, event: &Event) {
        if let Some(activity) = describe_activity(event) {
            self.set_activity(task, activity);
        }
    }

    fn set_activity(&mut self, task: TaskId, activity: String) {
        if self.root == Some(task) {
            self.main_activity = Some(activity);
        } else if let Some(worker) = self.workers.get_mut(&task) {
            worker.activity = activity;
        }
    }
}

impl BoardTodo {
    fn reset_to_pending(&mut self) {
        self.status = TodoStatus::Pending;
    }
}
