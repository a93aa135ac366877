//! What every task of the session is and did, folded from the log as it becomes durable: names, definitions, and how
//! activations ended. Views read the store; agents are told from here, without waiting for a file. What a task said and
//! left behind is held while it is at work and for the latest that have ended; the log has it of all others.

mod endings;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use protocol::{
    Activation, AgentSpec, At, Budget, Cost, DefinitionId, Entry, Event, Outcome, PermissionMode, TaskId, TaskSpec,
    Usage,
};

use endings::Endings;
pub(crate) use words::Words;

/// Of how many tasks at rest it is held what they said and left behind.
const RECENT: usize = 32;

/// The tasks of a session.
#[derive(Debug, Default)]
pub(crate) struct Roster(RwLock<Rolls>);

#[derive(Debug, Default)]
struct Rolls {
    tasks: HashMap<TaskId, Box<Known>>,
    /// The tasks at rest whose words are held; the one that rests longest first.
    recent: VecDeque<TaskId>,
    /// Another number whenever a call has left something new behind, and the same one for the same log.
    left_behind: u64,
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
pub(crate) struct Known {
    pub(crate) spec: Arc<TaskSpec>,
    pub(crate) path: Arc<str>,
    pub(crate) depth: u32,
    pub(crate) children: Vec<TaskId>,
    pub(crate) intent: Option<String>,
    pub(crate) tally: Tally,
    /// Where its own checkout is, if it has one.
    pub(crate) placed: Option<String>,
    /// The commit that keeps what it made there.
    pub(crate) sealed: Option<String>,
    pub(crate) endings: Endings,
    /// What it said and left behind, while that is held.
    words: Option<Arc<Words>>,
    /// Whether its next activation has not begun.
    in_line: bool,
}

/// What a task used so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) turns: u32,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
    /// When its latest activation began.
    pub(crate) began: Option<At>,
}

/// How an activation ended, with what was known then: whoever is told of it again is told the same.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) tally: Tally,
    /// The task's children, and how they stood.
    pub(crate) children: Box<[String]>,
    pub(crate) at: At,
}

impl Roster {
    /// Takes in a durable event.
    pub(crate) fn read(&self, entry: &Entry) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).read(entry);
    }

    /// The model of every agent that wants no other.
    pub(crate) fn model(&self) -> Option<SessionModel> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).model.clone()
    }

    /// What is known of a task.
    pub(crate) fn known<T>(&self, task: TaskId, look: impl FnOnce(&Known) -> T) -> Option<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).tasks.get(&task).map(|known| look(known))
    }

    /// What a task said and left behind in all its activations, if that is held.
    pub(crate) fn words(&self, task: TaskId) -> Option<Arc<Words>> {
        self.known(task, |known| known.words.clone()).flatten().filter(|words| words.is_whole())
    }

    /// Whether a task is at work, or among the latest that came to rest: whatever else is held of a task for a while is
    /// held as long.
    pub(crate) fn is_recent(&self, task: TaskId) -> bool {
        self.known(task, |known| known.words.is_some()) == Some(true)
    }

    /// What a task's agent is, if the session keeps its definition.
    pub(crate) fn definition(&self, task: TaskId) -> Option<Arc<AgentSpec>> {
        let rolls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let id = rolls.tasks.get(&task)?.spec.definition.as_ref()?;
        rolls.definitions.get(id).cloned()
    }

    /// What a task said last in the activation under way.
    pub(crate) fn said(&self, task: TaskId) -> String {
        let said = |known: &Known| known.words.as_ref().map(|words| words.said().to_owned());
        self.known(task, said).flatten().unwrap_or_default()
    }

    /// Whether a task, or one above it, began with a budget.
    pub(crate) fn is_budgeted(&self, task: TaskId) -> bool {
        let rolls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        rolls.upwards(task).any(|known| known.spec.budget != Budget::default())
    }

    /// The narrowest mode that the definition of a task, or of one above it, speaks of.
    pub(crate) fn mode(&self, task: TaskId) -> Option<PermissionMode> {
        let rolls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let definitions =
            rolls.upwards(task).filter_map(|known| rolls.definitions.get(known.spec.definition.as_ref()?));
        let modes = definitions.filter_map(|definition| definition.permission);
        modes.reduce(|one, other| if other.is_narrower(one) { other } else { one })
    }

    /// The task whose checkout a task works in: itself, or the nearest above it that has one of its own.
    pub(crate) fn isolated(&self, task: TaskId) -> Option<TaskId> {
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
    pub(crate) fn left_behind(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).left_behind
    }

    /// Everything below a task, parents before their children.
    pub(crate) fn below(&self, top: TaskId) -> Vec<TaskId> {
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
        self.known(task, |known| known.depth) == Some(0)
    }

    /// Where a task is in the tree, such as `/root/tests`.
    pub(crate) fn path(&self, task: TaskId) -> Arc<str> {
        self.known(task, |known| Arc::clone(&known.path)).unwrap_or_else(|| task.to_string().into())
    }
}

impl Rolls {
    /// A task, and those above it.
    fn upwards(&self, task: TaskId) -> impl Iterator<Item = &Known> {
        let above = |known: &&Known| known.spec.parent.and_then(|parent| self.tasks.get(&parent)).map(Box::as_ref);
        std::iter::successors(self.tasks.get(&task).map(Box::as_ref), above)
    }

    fn read(&mut self, entry: &Entry) {
        match &entry.event {
            Event::TaskCreated(spec) => return self.create(entry.task, spec),
            Event::AgentDefined { id, spec } => {
                self.definitions.insert(id.clone(), Arc::new((**spec).clone()));
            }
            Event::SessionOpened(terms) | Event::SessionAdopted { terms, .. } => {
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
            (self.left_behind, entry.task).hash(&mut hasher);
            self.left_behind = hasher.finish();
        }
        self.hold_recent(entry);
    }

    /// Lets go of what the tasks said and left behind that have been at rest for longest.
    fn hold_recent(&mut self, entry: &Entry) {
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
                known.words = None;
            }
        }
    }

    /// The children of a task that a reader of its result should know of, with how they stand. Nobody reads the root's.
    fn children(&self, task: TaskId) -> Vec<String> {
        let line = |id: &TaskId| {
            let known = self.tasks.get(id)?;
            let state = known.endings.last_key_value().map_or("not ended", |(_, ending)| ending.outcome.word());
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
        let known = Known {
            spec: Arc::new(spec.clone()),
            path: path.into(),
            depth,
            children: Vec::new(),
            intent: None,
            tally: Tally::default(),
            placed: None,
            sealed: None,
            endings: Endings::default(),
            words: Some(Arc::new(Words::of_the_beginning())),
            in_line: spec.parent.is_some(),
        };
        self.tasks.insert(id, Box::new(known));
    }
}

impl Known {
    /// How its first activation ended, which is what the call that started it waits for. By the time that is answered,
    /// the task may have had more to do, whose results go their own way.
    pub(crate) fn first(&self) -> Option<(Activation, &Ending)> {
        let first = Activation(1);
        self.endings.get(&first).map(|ending| (first, ending))
    }

    /// How its latest ended.
    pub(crate) fn latest(&self) -> Option<(Activation, &Ending)> {
        self.endings.last_key_value().map(|(activation, ending)| (*activation, ending))
    }

    /// Takes in an event; tells whether a call left something behind that was not known.
    fn read(&mut self, entry: &Entry, children: Vec<String>) -> bool {
        match &entry.event {
            Event::TaskRequeued => self.in_line = true,
            Event::ActivationStarted { attempt, .. } => {
                self.in_line = false;
                if attempt.0 == 1 {
                    self.tally.began = Some(entry.at);
                }
                // What it said before is in the log.
                self.words.get_or_insert_default();
            }
            Event::TurnAnswered { usage, cost, .. } => {
                self.tally.turns += 1;
                self.tally.usage = self.tally.usage.plus(*usage);
                self.tally.cost = self.tally.cost.plus(*cost);
            }
            Event::TurnFailed { cost, .. } => self.tally.cost = self.tally.cost.plus(*cost),
            Event::WorkPlaced { path, .. } => self.placed = Some(path.clone()),
            Event::WorkSealed { commit, .. } => self.sealed = Some(commit.clone()),
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
                if self.in_line {
                    self.end(next, outcome.clone(), entry.at, children);
                }
            }
            _other => {}
        }
        self.words
            .as_mut()
            .is_some_and(|words| words::concerns(&entry.event) && Arc::make_mut(words).read(&entry.event))
    }

    fn end(&mut self, activation: Activation, outcome: Outcome, at: At, children: Vec<String>) {
        if self.spec.parent.is_none() {
            self.endings.clear();
            if let Some(words) = &mut self.words {
                Arc::make_mut(words).forget_texts();
            }
        }
        self.endings.insert(activation, Ending { outcome, tally: self.tally, children: children.into(), at });
        self.in_line = false;
    }
}
