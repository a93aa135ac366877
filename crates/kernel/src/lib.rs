//! The pure heart of Bosun: it decides everything about tasks and performs nothing.
//!
//! [`Kernel::apply`] takes one [`Input`] and answers with [`Effect`]s, or with a [`Refusal`] that changed
//! nothing. State changes only by events: what `apply` records, [`Kernel::evolve`] folds, so a state read
//! back from the log equals the state that wrote it. Time and ids come in as arguments; there is no I/O,
//! clock or randomness here.

#![deny(missing_docs)]

pub mod bucket;
mod decide;
mod effect;
mod evolve;
#[cfg(test)]
mod histories;
mod input;
mod ledger;
mod phase;
mod refusal;
mod slots;
mod state;
mod task;
mod words;
mod work;

use protocol::{At, Entry, TaskId};

pub use bucket::Bucket;
pub use effect::Effect;
pub use evolve::Impossible;
pub use input::{Booked, Ending, Input, Letter, Point, Report, Spawn};
pub use ledger::Ledger;
pub use phase::{Footing, Phase, Purpose, Signal};
pub use refusal::Refusal;
pub use state::State;
pub use task::{Last, Task};
pub use work::{CallPhase, Decided, Wait, Work};

/// How many agents a session may have. Every agent of the tree counts against the same limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Agents that may run at once; more wait in a queue.
    pub live: u32,
    /// How deep the tree may grow below the root.
    pub depth: u32,
    /// Agents that a session may start in all.
    pub total: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { live: 32, depth: 6, total: 2_000 }
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

    /// How many calls wait for a person's decision.
    pub fn open_asks(&self) -> usize {
        self.state.asks.len()
    }

    /// The moment at which [`Input::Tick`] is due.
    pub fn alarm(&self) -> Option<At> {
        self.state.alarms.first().map(|(at, _)| *at)
    }
}
