//! The pure heart of Bosun: it decides everything about tasks and performs nothing.
//!
//! [`Kernel::apply`] takes one [`Input`] and answers with [`Effect`]s, or with a [`Refusal`] that changed
//! nothing. State changes only by events: what `apply` records, [`Kernel::evolve`] folds, so a state read
//! back from the log equals the state that wrote it. Time and ids come in as arguments; there is no I/O,
//! clock or randomness here.

#![deny(missing_docs)]

pub mod bucket;
mod counts;
pub mod day;
mod decide;
mod effect;
mod evolve;
mod graph;
mod helm;
#[cfg(test)]
mod histories;
mod index;
mod input;
mod ledger;
mod parked;
mod phase;
mod refusal;
mod slots;
mod state;
mod task;
mod tasks;
mod words;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{At, Entry, Errand, ErrandId, TaskId, TodoId};

pub use bucket::Bucket;
pub use effect::Effect;
pub use evolve::Impossible;
pub use graph::{Graph, Node, Standing};
pub use helm::{Flight, Helm};
pub use input::{Booked, Definition, Ending, Input, Letter, Memory, Point, Report, Spawn, TodoMove};
pub use ledger::Ledger;
pub use phase::{Footing, Parking, Phase, Purpose, Signal};
pub use refusal::Refusal;
pub use state::State;
pub use task::{Last, Task};
pub use work::{Asking, CallPhase, Decided, Wait, Work};

/// How many agents a session may have. Every agent of the tree counts against the same limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Agents that may run at once; more wait in a queue.
    pub live: u32,
    /// How deep the tree may grow below the root.
    pub depth: u32,
    /// Agents that a session may start in all.
    pub total: u32,
    /// Agents that agents below the root may start within a minute, all of them together.
    pub rate: u32,
    /// Agents of one type that may run at once, for types that have a limit of their own.
    pub of_type: BTreeMap<String, u32>,
    /// How long a task that is asked to stop may take for its last turn.
    pub grace: Duration,
    /// How often hooks may keep one activation from ending.
    pub holds: u32,
    /// How often an activation may try again to bring what is expected of it.
    pub repairs: u32,
    /// How often the root is told to go on for one objective on autopilot.
    pub continues: u32,
    /// Most turns that the root takes for one objective on autopilot, unless it has a limit of its own.
    pub autopilot_turns: u32,
    /// How long a result that comes to a task at rest waits for others, while agents that the task started are at
    /// work. It doubles with each message, up to [`RESULT_WINDOW_GROWTH`] times. Nothing: each result wakes at once.
    pub result_window: Duration,
}

/// How many times as long as at first results wait for each other in the end.
pub const RESULT_WINDOW_GROWTH: u32 = 64;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            live: 32,
            depth: 6,
            total: 2_000,
            rate: 200,
            of_type: BTreeMap::new(),
            grace: Duration::from_secs(30),
            holds: 8,
            repairs: 2,
            continues: 5,
            autopilot_turns: 200,
            result_window: Duration::from_secs(1),
        }
    }
}

/// All decisions about one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    limits: Limits,
    state: State,
}

impl Kernel {
    /// A session in which nothing has happened.
    pub fn new(limits: Limits) -> Kernel {
        Kernel { limits, state: State::default() }
    }

    /// Decides on `input`. A refused input changes nothing.
    pub fn apply(&mut self, now: At, input: Input) -> Result<Vec<Effect>, Refusal> {
        decide::decide(&mut self.state, &self.limits, now, input)
    }

    /// Adopts an event that is durable.
    pub fn evolve(&mut self, entry: &Entry) -> Result<(), Impossible> {
        self.state.evolve(entry)
    }

    /// Keeps what is known of a task at rest once, if the other kernel of the session knows the same of it.
    pub fn share_task(&mut self, id: TaskId, with: &Kernel) {
        self.state.tasks.share(id, &with.state.tasks);
    }

    /// What is known of a task.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.state.tasks.get(&id)
    }

    /// Every task, in the order of their ids.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.state.tasks.values()
    }

    /// The root task, once the session is open.
    pub fn root(&self) -> Option<TaskId> {
        self.state.root
    }

    /// Whether nothing is queued, running or parked.
    pub fn is_quiet(&self) -> bool {
        self.state.busy == 0
    }

    /// How many tasks are queued, running or parked.
    pub fn busy(&self) -> usize {
        self.state.busy
    }

    /// What the whole session waits for, when every agent that is not at rest is parked or waits for one that is.
    pub fn parked(&self) -> Option<Parking> {
        self.state.parked()
    }

    /// Whether a model of this one's provider has answered in the session.
    pub fn has_answered(&self, model: &str) -> bool {
        self.state.counts.knows_provider(model)
    }

    /// How many calls wait for a person's decision.
    pub fn open_asks(&self) -> usize {
        self.state.asks.len()
    }

    /// How many agents have started so far.
    pub fn started(&self) -> u32 {
        self.state.started
    }

    /// The session's mode, and where the root is with its objective.
    pub fn helm(&self) -> &Helm {
        &self.state.helm
    }

    /// Whether the root should be told to go on, with [`Input::GoOn`].
    pub fn is_continuation_due(&self) -> bool {
        self.state.is_continuation_due()
    }

    /// The todos, and the fleet that works through them.
    pub fn graph(&self) -> &Graph {
        &self.state.graph
    }

    /// The todos that agents should be started for now: those that are ready, in their order, as far as there is room
    /// for whoever does them. `agent` is the type of those that name none.
    pub fn due(&self, agent: &str) -> Vec<TodoId> {
        self.state.due(&self.limits, agent)
    }

    /// What clients do themselves, by name.
    pub fn errands(&self) -> impl Iterator<Item = &Errand> {
        self.state.errands.values()
    }

    /// One of them.
    pub fn errand(&self, id: &ErrandId) -> Option<&Errand> {
        self.state.errands.get(id)
    }

    /// The moment at which [`Input::Tick`] is due.
    pub fn alarm(&self) -> Option<At> {
        self.state.alarms.first().map(|(at, ..)| *at)
    }
}
