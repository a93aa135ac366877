//! What every task of the session is and did, folded from the log as it becomes durable: names, definitions, and how
//! activations ended. Views read the store; agents are told from here, without waiting for a file. What a task said and
//! left behind is held while it is at work and for the latest that have ended; the log has it of all others.

mod endings;
#[cfg(test)]
mod tests;
mod trace;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use protocol::{
    Activation, AgentSpec, Budget, Cost, DefinitionId, Event, LogEntry, PermissionMode, TaskId, TaskOutcome, TaskSpec,
    Timestamp, Usage,
};

use endings::ActivationEndings;
pub(crate) use trace::TaskTrace;

/// Of how many tasks at rest it is held what they said and left behind.
const RECENT: usize = 32;

/// The tasks of a session.
#[derive(Debug, Default)]
pub(crate) struct Roster(RwLock<RosterState>);

#[derive(Debug, Default)]
struct RosterState {
    tasks: HashMap<TaskId, Box<RosterEntry>>,
    /// The tasks at rest whose words are held; the one that rests longest first.
    recent: VecDeque<TaskId>,
    /// Another number whenever a call has left something new behind, and the same one for the same log.
    evidence_hash: u64,
    definitions: BTreeMap<DefinitionId, Arc<AgentSpec>>,
    /// The session's model; none before the session is open.
    model: Option<SessionModel>,
}

/// The model of every agent that wants no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionModel {
    /// It, as `--model` takes it.
    pub(crate) spec: Arc<str>,
    /// Whether somebody chose it while the session ran: the session's own agent has it then, whatever it wanted.
    pub(crate) chosen: bool,
}

/// What is known of a task.
#[derive(Debug, Clone)]
pub(crate) struct RosterEntry {
    pub(crate) spec: Arc<TaskSpec>,
    pub(crate) path: Arc<str>,
    pub(crate) depth: u32,
    pub(crate) children: Vec<TaskId>,
    pub(crate) intent: Option<String>,
    pub(crate) usage: TaskUsage,
    /// Where its own checkout is, if it has one.
    pub(crate) checkout_path: Option<String>,
    /// The commit that keeps what it made there.
    pub(crate) sealed_commit: Option<String>,
    pub(crate) endings: ActivationEndings,
    /// What it said and left behind, while that is held.
    trace: Option<Arc<TaskTrace>>,
    /// Whether its next activation has not begun.
    is_queued: bool,
}

/// What a task used so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskUsage {
    pub(crate) turns: u32,
    pub(crate) tokens: Usage,
    pub(crate) cost: Cost,
    /// When its latest activation began.
    pub(crate) began: Option<Timestamp>,
}

/// How an activation ended, with what was known then: whoever is told of it again is told the same.
#[derive(Debug, Clone)]
pub(crate) struct ActivationEnding {
    pub(crate) outcome: TaskOutcome,
    pub(crate) usage: TaskUsage,
    /// The task's children, and how they stood.
    pub(crate) children: Box<[String]>,
    pub(crate) at: Timestamp,
}

impl Roster {
    /// Takes in a durable event.
    pub(crate) fn read(&self, entry: &LogEntry) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).read(entry);
    }

    /// The model of every agent that wants no other.
    pub(crate) fn model(&self) -> Option<SessionModel> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).model.clone()
    }

    /// What is known of a task.
    pub(crate) fn with_task<T>(&self, task: TaskId, look: impl FnOnce(&RosterEntry) -> T) -> Option<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).tasks.get(&task).map(|known| look(known))
    }

    /// What a task said and left behind in all its activations, if that is held.
    pub(crate) fn trace(&self, task: TaskId) -> Option<Arc<TaskTrace>> {
        self.with_task(task, |known| known.trace.clone()).flatten().filter(|words| words.is_complete())
    }

    /// Whether a task is at work, or among the latest that came to rest: whatever else is held of a task for a while is
    /// held as long.
    pub(crate) fn is_recent(&self, task: TaskId) -> bool {
        self.with_task(task, |known| known.trace.is_some()) == Some(true)
    }

    /// What a task's agent is, if the session keeps its definition.
    pub(crate) fn definition(&self, task: TaskId) -> Option<Arc<AgentSpec>> {
        let rolls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let id = rolls.tasks.get(&task)?.spec.definition.as_ref()?;
        rolls.definitions.get(id).cloned()
    }

    /// What a task said last in the activation under way.
    pub(crate) fn latest_text(&self, task: TaskId) -> String {
        let said = |known: &RosterEntry| known.trace.as_ref().map(|words| words.latest_text().to_owned());
        self.with_task(task, said).flatten().unwrap_or_default()
    }

    /// Whether a task, or one above it, began with a budget.
    pub(crate) fn is_budgeted(&self, task: TaskId) -> bool {
        let rolls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        rolls.lineage(task).any(|known| known.spec.budget != Budget::default())
    }

    /// The narrowest mode that the definition of a task, or of one above it, speaks of.
    pub(crate) fn mode(&self, task: TaskId) -> Option<PermissionMode> {
        let rolls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let definitions =
            rolls.lineage(task).filter_map(|known| rolls.definitions.get(known.spec.definition.as_ref()?));
        let modes = definitions.filter_map(|definition| definition.permission);
        modes.reduce(|one, other| if other.is_narrower(one) { other } else { one })
    }

    /// The task whose checkout a task works in: itself, or the nearest above it that has one of its own.
    pub(crate) fn checkout_owner(&self, task: TaskId) -> Option<TaskId> {
        let rolls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut at = task;
        loop {
            let known = rolls.tasks.get(&at)?;
            if known.spec.isolation.is_some() {
                return Some(at);
            }
            at = known.spec.parent?;
        }
    }

    /// A number that is another one whenever a call of any task has left something new behind.
    pub(crate) fn evidence_hash(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).evidence_hash
    }

    /// Everything below a task, parents before their children.
    pub(crate) fn descendants(&self, top: TaskId) -> Vec<TaskId> {
        let rolls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let children = |id: TaskId| rolls.tasks.get(&id).map(|known| known.children.as_slice()).unwrap_or_default();
        let mut found = children(top).to_vec();
        let mut next = 0;
        while let Some(id) = found.get(next).copied() {
            found.extend(children(id));
            next += 1;
        }
        found
    }

    /// Whether a task is the session's own.
    pub(crate) fn is_root(&self, task: TaskId) -> bool {
        self.with_task(task, |known| known.depth) == Some(0)
    }

    /// Where a task is in the tree, such as `/root/tests`.
    pub(crate) fn path(&self, task: TaskId) -> Arc<str> {
        self.with_task(task, |known| Arc::clone(&known.path)).unwrap_or_else(|| task.to_string().into())
    }
}

impl RosterState {
    /// A task, and those above it.
    fn lineage(&self, task: TaskId) -> impl Iterator<Item = &RosterEntry> {
        let above =
            |known: &&RosterEntry| known.spec.parent.and_then(|parent| self.tasks.get(&parent)).map(Box::as_ref);
        std::iter::successors(self.tasks.get(&task).map(Box::as_ref), above)
    }

    fn read(&mut self, entry: &LogEntry) {
        match &entry.event {
            Event::TaskCreated(spec) => return self.create(entry.task, spec),
            Event::AgentDefined { id, spec } => {
                self.definitions.insert(id.clone(), Arc::new((**spec).clone()));
            }
            Event::SessionOpened(terms) | Event::SessionAdopted { config: terms, .. } => {
                let chosen = self.model.as_ref().is_some_and(|model| model.chosen);
                self.model = Some(SessionModel { spec: terms.model.as_str().into(), chosen });
            }
            Event::ModelChanged { model, .. } => {
                self.model = Some(SessionModel { spec: model.as_str().into(), chosen: true });
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

    /// Lets go of what the tasks said and left behind that have been at rest for longest.
    fn evict_traces(&mut self, entry: &LogEntry) {
        match &entry.event {
            Event::ActivationStarted { .. } => self.recent.retain(|task| *task != entry.task),
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => {
                self.recent.retain(|task| *task != entry.task);
                let is_below = self.tasks.get(&entry.task).is_some_and(|known| known.spec.parent.is_some());
                self.recent.extend(Some(entry.task).filter(|_| is_below));
            }
            _other => {}
        }
        while self.recent.len() > RECENT {
            if let Some(known) = self.recent.pop_front().and_then(|longest| self.tasks.get_mut(&longest)) {
                known.trace = None;
            }
        }
    }

    /// The children of a task that a reader of its result should know of, with how they stand. Nobody reads the root's.
    fn children(&self, task: TaskId) -> Vec<String> {
        let line = |id: &TaskId| {
            let known = self.tasks.get(id)?;
            let state = known.endings.last_key_value().map_or("not ended", |(_, ending)| ending.outcome.as_str());
            Some(format!("{} {state}", known.spec.name))
        };
        let told = self.tasks.get(&task).filter(|known| known.spec.parent.is_some());
        told.into_iter().flat_map(|known| &known.children).filter_map(line).collect()
    }

    fn create(&mut self, id: TaskId, spec: &TaskSpec) {
        let above = spec.parent.and_then(|parent| self.tasks.get_mut(&parent));
        let (path, depth) = match above {
            Some(parent) => {
                parent.children.push(id);
                (format!("{}/{}", parent.path, spec.name), parent.depth + 1)
            }
            None => (format!("/{}", spec.name), 0),
        };
        let known = RosterEntry {
            spec: Arc::new(spec.clone()),
            path: path.into(),
            depth,
            children: Vec::new(),
            intent: None,
            usage: TaskUsage::default(),
            checkout_path: None,
            sealed_commit: None,
            endings: ActivationEndings::default(),
            trace: Some(Arc::new(TaskTrace::from_start())),
            is_queued: spec.parent.is_some(),
        };
        self.tasks.insert(id, Box::new(known));
    }
}

impl RosterEntry {
    /// How its first activation ended, which is what the call that started it waits for. By the time that is answered,
    /// the task may have had more to do, whose results go their own way.
    pub(crate) fn first(&self) -> Option<(Activation, &ActivationEnding)> {
        let first = Activation(1);
        self.endings.get(&first).map(|ending| (first, ending))
    }

    /// How its latest ended.
    pub(crate) fn latest(&self) -> Option<(Activation, &ActivationEnding)> {
        self.endings.last_key_value().map(|(activation, ending)| (*activation, ending))
    }

    /// Takes in an event; tells whether a call left something behind that was not known.
    fn read(&mut self, entry: &LogEntry, children: Vec<String>) -> bool {
        match &entry.event {
            Event::TaskRequeued => self.is_queued = true,
            Event::ActivationStarted { attempt, .. } => {
                self.is_queued = false;
                if attempt.0 == 1 {
                    self.usage.began = Some(entry.at);
                }
                // What it said before is in the log.
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
            Event::AgentSelected { agent, definition, model } => {
                let spec = Arc::make_mut(&mut self.spec);
                (spec.agent, spec.definition, spec.model) = (agent.clone(), definition.clone(), model.clone());
            }
            Event::ActivationEnded { activation, outcome, .. } => {
                self.end(*activation, outcome.clone(), entry.at, children)
            }
            Event::TaskFinished { outcome } => {
                // One that never began has no activation to end.
                let next = Activation(self.endings.last_key_value().map_or(1, |(last, _)| last.0 + 1));
                if self.is_queued {
                    self.end(next, outcome.clone(), entry.at, children);
                }
            }
            _other => {}
        }
        self.trace
            .as_mut()
            .is_some_and(|words| trace::is_relevant(&entry.event) && Arc::make_mut(words).read(&entry.event))
    }

    fn end(&mut self, activation: Activation, outcome: TaskOutcome, at: Timestamp, children: Vec<String>) {
        if self.spec.parent.is_none() {
            self.endings.clear();
            if let Some(words) = &mut self.trace {
                Arc::make_mut(words).clear_results();
            }
        }
        self.endings.insert(activation, ActivationEnding { outcome, usage: self.usage, children: children.into(), at });
        self.is_queued = false;
    }
}
