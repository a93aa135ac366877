//! A summary of every task in the session, folded from durable events: names, definitions, and how activations ended.
//! Views read the store; agents learn about each other from here, without file access. The trace of a task is held
//! while it works and for the tasks that ended last; for all others it is in the log.

mod endings;
#[cfg(test)]
mod tests;
mod trace;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use protocol::{
    Activation, AgentSpec, Budget, Cost, DefinitionId, Event, LogEntry, PermissionMode, ReasoningEffort, TaskId,
    TaskOutcome, TaskSpec, Timestamp, Usage,
};

use endings::ActivationEndings;
pub(crate) use trace::TaskTrace;

/// The number of idle tasks whose traces are held.
const MAX_IDLE_TRACES: usize = 32;

/// The tasks of a session.
#[derive(Debug, Default)]
pub(crate) struct Roster(RwLock<RosterState>);

#[derive(Debug, Default)]
struct RosterState {
    tasks: HashMap<TaskId, Box<RosterEntry>>,
    /// The idle tasks whose traces are held, longest idle first.
    recent: VecDeque<TaskId>,
    /// Changes whenever a call adds new evidence; the same for the same log.
    evidence_hash: u64,
    definitions: BTreeMap<DefinitionId, Arc<AgentSpec>>,
    /// The session's model; `None` until the session is open.
    model: Option<SessionModel>,
}

/// The model of every agent that requests no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionModel {
    /// Its name, as `--model` takes it.
    pub(crate) spec: Arc<str>,
    /// Whether the user chose it while the session ran: the root then uses it even if its definition requests another.
    pub(crate) chosen: bool,
    /// The reasoning effort that the user chose while the session ran.
    pub(crate) effort: Option<ReasoningEffort>,
}

/// The summary of a task.
#[derive(Debug, Clone)]
pub(crate) struct RosterEntry {
    pub(crate) spec: Arc<TaskSpec>,
    /// Its path in the tree of tasks, such as `/root/tests`.
    pub(crate) path: Arc<str>,
    pub(crate) depth: u32,
    pub(crate) child_states: Vec<TaskId>,
    /// What the agent last reported that it is doing.
    pub(crate) intent: Option<String>,
    pub(crate) usage: TaskUsage,
    /// The path of its own checkout, if it has one.
    pub(crate) checkout_path: Option<String>,
    /// The commit that holds its work from that checkout.
    pub(crate) sealed_commit: Option<String>,
    pub(crate) endings: ActivationEndings,
    /// Its trace, while that is held.
    trace: Option<Arc<TaskTrace>>,
    /// Whether it waits for its next activation to start.
    is_queued: bool,
}

/// What a task has used so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskUsage {
    pub(crate) turns: u32,
    pub(crate) tokens: Usage,
    pub(crate) cost: Cost,
    /// When its latest activation started.
    pub(crate) started_at: Option<Timestamp>,
}

/// How an activation ended, with the state at that time, so that every later report says the same.
#[derive(Debug, Clone)]
pub(crate) struct ActivationEnding {
    pub(crate) outcome: TaskOutcome,
    pub(crate) usage: TaskUsage,
    /// The task's children and their states.
    pub(crate) children: Box<[String]>,
    pub(crate) ended_at: Timestamp,
}

impl Roster {
    /// Applies a durable event.
    pub(crate) fn apply_event(&self, entry: &LogEntry) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).apply_event(entry);
    }

    /// The model of every agent that requests no other.
    pub(crate) fn model(&self) -> Option<SessionModel> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).model.clone()
    }

    /// Reads the entry of a task.
    pub(crate) fn with_task<T>(&self, task: TaskId, read: impl FnOnce(&RosterEntry) -> T) -> Option<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).tasks.get(&task).map(|entry| read(entry))
    }

    /// The trace of a task over all its activations, if it is held.
    pub(crate) fn trace(&self, task: TaskId) -> Option<Arc<TaskTrace>> {
        self.with_task(task, |entry| entry.trace.clone()).flatten().filter(|trace| trace.is_complete())
    }

    /// The definition of a task's agent, if the session has stored it.
    pub(crate) fn definition(&self, task: TaskId) -> Option<Arc<AgentSpec>> {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let id = state.tasks.get(&task)?.spec.definition.as_ref()?;
        state.definitions.get(id).cloned()
    }

    /// The latest text of a task in its current activation.
    pub(crate) fn latest_text(&self, task: TaskId) -> String {
        let latest = |entry: &RosterEntry| entry.trace.as_ref().map(|trace| trace.latest_text().to_owned());
        self.with_task(task, latest).flatten().unwrap_or_default()
    }

    /// Whether a task, or one above it, has a budget.
    pub(crate) fn is_budgeted(&self, task: TaskId) -> bool {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        state.lineage(task).any(|entry| entry.spec.budget != Budget::default())
    }

    /// The strictest permission mode in the definitions of a task and those above it.
    pub(crate) fn mode(&self, task: TaskId) -> Option<PermissionMode> {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let definitions =
            state.lineage(task).filter_map(|entry| state.definitions.get(entry.spec.definition.as_ref()?));
        let modes = definitions.filter_map(|definition| definition.permission);
        modes.reduce(|one, other| if other.is_narrower(one) { other } else { one })
    }

    /// The task whose checkout a task works in: itself, or the nearest above it that has a checkout.
    pub(crate) fn checkout_owner(&self, task: TaskId) -> Option<TaskId> {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut current = task;
        loop {
            let entry = state.tasks.get(&current)?;
            if entry.spec.isolation.is_some() {
                return Some(current);
            }
            current = entry.spec.parent?;
        }
    }

    /// A number that changes whenever a call of any task adds new evidence.
    pub(crate) fn evidence_hash(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).evidence_hash
    }

    /// All tasks below a task, parents before their children.
    pub(crate) fn descendants(&self, top: TaskId) -> Vec<TaskId> {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let children = |id: TaskId| state.tasks.get(&id).map(|entry| entry.child_states.as_slice()).unwrap_or_default();
        let mut found = children(top).to_vec();
        let mut next = 0;
        while let Some(id) = found.get(next).copied() {
            found.extend(children(id));
            next += 1;
        }
        found
    }

    /// The path of a task in the tree, such as `/root/tests`.
    pub(crate) fn path(&self, task: TaskId) -> Arc<str> {
        self.with_task(task, |entry| Arc::clone(&entry.path)).unwrap_or_else(|| task.to_string().into())
    }
}

impl RosterState {
    /// A task, and those above it.
    fn lineage(&self, task: TaskId) -> impl Iterator<Item = &RosterEntry> {
        let above =
            |entry: &&RosterEntry| entry.spec.parent.and_then(|parent| self.tasks.get(&parent)).map(Box::as_ref);
        std::iter::successors(self.tasks.get(&task).map(Box::as_ref), above)
    }

    fn apply_event(&mut self, entry: &LogEntry) {
        match &entry.event {
            Event::TaskCreated(spec) => return self.add_task(entry.task, spec),
            Event::AgentDefined { id, spec } => {
                self.definitions.insert(id.clone(), Arc::new((**spec).clone()));
            }
            Event::SessionOpened(config) | Event::SessionAdopted { config, .. } => {
                let chosen = self.model.as_ref().is_some_and(|model| model.chosen);
                self.model = Some(SessionModel { spec: config.model.as_str().into(), chosen, effort: None });
            }
            Event::ModelChanged { model, effort, .. } => {
                let effort = effort.or(self.model.as_ref().and_then(|model| model.effort));
                self.model = Some(SessionModel { spec: model.as_str().into(), chosen: true, effort });
            }
            _other => {}
        }
        let children = match &entry.event {
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => self.children(entry.task),
            _other => Vec::new(),
        };
        let Some(known) = self.tasks.get_mut(&entry.task) else { return };
        if known.read(entry, children) {
            let mut hasher = DefaultHasher::new();
            (self.evidence_hash, entry.task).hash(&mut hasher);
            self.evidence_hash = hasher.finish();
        }
        self.evict_traces(entry);
    }

    /// Drops the traces of the tasks that have been idle for longest.
    fn evict_traces(&mut self, entry: &LogEntry) {
        match &entry.event {
            Event::ActivationStarted { .. } => self.recent.retain(|task| *task != entry.task),
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => {
                self.recent.retain(|task| *task != entry.task);
                let has_parent = self.tasks.get(&entry.task).is_some_and(|known| known.spec.parent.is_some());
                self.recent.extend(Some(entry.task).filter(|_| has_parent));
            }
            _other => {}
        }
        while self.recent.len() > MAX_IDLE_TRACES {
            if let Some(known) = self.recent.pop_front().and_then(|longest| self.tasks.get_mut(&longest)) {
                known.trace = None;
            }
        }
    }

    /// The children of a task and their states, for readers of its result. The root's result has no reader.
    fn children(&self, task: TaskId) -> Vec<String> {
        let line = |id: &TaskId| {
            let entry = self.tasks.get(id)?;
            let state = entry.endings.last_key_value().map_or("not ended", |(_, ending)| ending.outcome.as_str());
            Some(format!("{} {state}", entry.spec.name))
        };
        let reported = self.tasks.get(&task).filter(|entry| entry.spec.parent.is_some());
        reported.into_iter().flat_map(|entry| &entry.child_states).filter_map(line).collect()
    }

    fn add_task(&mut self, id: TaskId, spec: &TaskSpec) {
        let parent_entry = spec.parent.and_then(|parent| self.tasks.get_mut(&parent));
        let (path, depth) = match parent_entry {
            Some(parent) => {
                parent.child_states.push(id);
                (format!("{}/{}", parent.path, spec.name), parent.depth + 1)
            }
            None => (format!("/{}", spec.name), 0),
        };
        let entry = RosterEntry {
            spec: Arc::new(spec.clone()),
            path: path.into(),
            depth,
            child_states: Vec::new(),
            intent: None,
            usage: TaskUsage::default(),
            checkout_path: None,
            sealed_commit: None,
            endings: ActivationEndings::default(),
            trace: Some(Arc::new(TaskTrace::from_start())),
            is_queued: spec.parent.is_some(),
        };
        self.tasks.insert(id, Box::new(entry));
    }
}

impl RosterEntry {
    /// How its first activation ended: the call that started the task waits for it. Results of later activations are
    /// delivered separately.
    pub(crate) fn first_ending(&self) -> Option<(Activation, &ActivationEnding)> {
        let first = Activation(1);
        self.endings.get(&first).map(|ending| (first, ending))
    }

    /// How its latest activation ended.
    pub(crate) fn latest_ending(&self) -> Option<(Activation, &ActivationEnding)> {
        self.endings.last_key_value().map(|(activation, ending)| (*activation, ending))
    }

    /// Applies an event; returns whether a call added new evidence.
    fn read(&mut self, entry: &LogEntry, children: Vec<String>) -> bool {
        match &entry.event {
            Event::TaskRequeued => self.is_queued = true,
            Event::ActivationStarted { attempt, .. } => {
                self.is_queued = false;
                if attempt.0 == 1 {
                    self.usage.started_at = Some(entry.at);
                }
                // Its earlier text is in the log.
                self.trace.get_or_insert_default();
            }
            Event::TurnAnswered { usage, cost, .. } => {
                self.usage.turns += 1;
                self.usage.tokens = self.usage.tokens.plus(*usage);
                self.usage.cost = self.usage.cost.plus(*cost);
            }
            Event::TurnFailed { cost, .. } => self.usage.cost = self.usage.cost.plus(*cost),
            Event::WorkCheckedOut { path, .. } => self.checkout_path = Some(path.clone()),
            Event::WorkSealed { commit, .. } => self.sealed_commit = Some(commit.clone()),
            Event::IntentReported { intent } => self.intent = Some(intent.clone()),
            Event::McpTaskReported { report } => {
                self.intent = Some(report.summary());
                Arc::make_mut(&mut self.spec).apply_mcp_report(report);
            }
            Event::AgentSelected { agent, definition, model } => {
                let spec = Arc::make_mut(&mut self.spec);
                (spec.agent, spec.definition, spec.model) = (agent.clone(), definition.clone(), model.clone());
            }
            Event::ActivationEnded { activation, outcome, .. } => {
                self.end(*activation, outcome.clone(), entry.at, children)
            }
            Event::TaskFinished { outcome } => {
                // A task that never started has no activation to end.
                let next = Activation(self.endings.last_key_value().map_or(1, |(last, _)| last.0 + 1));
                if self.is_queued {
                    self.end(next, outcome.clone(), entry.at, children);
                }
            }
            _other => {}
        }
        self.trace
            .as_mut()
            .is_some_and(|trace| trace::is_relevant(&entry.event) && Arc::make_mut(trace).apply_event(&entry.event))
    }

    fn end(&mut self, activation: Activation, outcome: TaskOutcome, at: Timestamp, children: Vec<String>) {
        if self.spec.parent.is_none() {
            self.endings.clear();
            if let Some(trace) = &mut self.trace {
                Arc::make_mut(trace).clear_results();
            }
        }
        self.endings.insert(
            activation,
            ActivationEnding { outcome, usage: self.usage, children: children.into(), ended_at: at },
        );
        self.is_queued = false;
    }
}
