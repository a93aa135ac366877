//! Bosun's pure core: it makes every decision about tasks and performs nothing itself.
//!
//! [`Kernel::decide`] takes one [`KernelInput`] and returns [`KernelEffect`]s, or an [`InputRefusal`] that changed
//! nothing. It changes the state only through the events that it records; [`Kernel::apply_event`] applies the same
//! events read from the log, so a state rebuilt from the log equals the state that wrote it. Time and ids are arguments; there
//! is no I/O, clock or randomness here.

#![deny(missing_docs)]

pub mod bucket;
mod calibration;
mod call_answers;
pub mod day;
mod decide;
mod effect;
mod evolve;
mod graph;
#[cfg(test)]
mod histories;
mod index;
mod input;
mod ledger;
mod parked;
mod phase;
mod reader_wait;
mod refusal;
mod root_control;
mod slots;
mod state;
mod task;
mod tasks;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{ExternalTaskId, LogEntry, TaskId, Timestamp, TodoId};

pub use bucket::RateBucket;
pub use effect::KernelEffect;
pub use evolve::InvalidEvent;
pub use graph::{TodoGraph, TodoNode, TodoProgress};
pub use input::{
    AgentDefinition, BoundaryPoint, ExternalTaskClaim, ExternalTaskUpdate, FailedCallCharge, KernelInput,
    MemoryPressure, NewMail, RunEnding, RunUpdate, TaskSpawn, TodoTransition,
};
pub use ledger::BudgetLedger;
pub use phase::{Parking, PhaseSignal, QueuePurpose, SlotStatus, TaskPhase};
pub use reader_wait::ReaderWait;
pub use refusal::InputRefusal;
pub use root_control::{ObjectiveRun, RootControl};
pub use state::KernelState;
pub use task::{KernelTask, LastTurn};
pub use work::{ActivationWork, CallPhase, CallWait, DecidedAsk, ModelCall};

/// How many agents a session may have. Every agent of the tree counts against the same limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// Agents that may run at once; more wait in a queue.
    pub live: u32,
    /// How many levels of agents there may be below the root.
    pub depth: u32,
    /// Agents that a session may start in total.
    pub total: u32,
    /// Agents that all subagents together may start per minute; those that the root starts do not count.
    pub rate: u32,
    /// Agents of one type that may run at once, for types that have their own limit.
    pub max_by_type: BTreeMap<String, u32>,
    /// How long a task that is asked to stop may take for its last turn.
    pub grace: Duration,
    /// How often hooks may keep one activation from ending.
    pub max_stop_blocks: u32,
    /// How often an activation may try again to meet its expectations.
    pub max_expectation_retries: u32,
    /// How often the root is told to continue for one objective on autopilot.
    pub max_continues: u32,
    /// Maximum turns of the root for one objective on autopilot, unless the root has its own turn limit.
    pub max_autopilot_turns: u32,
    /// How long results for an idle task are held back while other agents that it started still work, so that it
    /// handles several in one activation. The time doubles with each delay, up to a factor of
    /// [`MAX_RESULT_WINDOW_FACTOR`]. With zero, each result wakes the task at once.
    pub result_window: Duration,
}

/// The largest factor by which the result window grows.
pub const MAX_RESULT_WINDOW_FACTOR: u32 = 64;

impl Default for SessionLimits {
    fn default() -> Self {
        SessionLimits {
            live: 32,
            depth: 6,
            total: 2_000,
            rate: 200,
            max_by_type: BTreeMap::new(),
            grace: Duration::from_secs(30),
            max_stop_blocks: 8,
            max_expectation_retries: 2,
            max_continues: 5,
            max_autopilot_turns: 200,
            result_window: Duration::from_secs(1),
        }
    }
}

/// The state machine of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    limits: SessionLimits,
    state: KernelState,
}

impl Kernel {
    /// A session in which nothing has happened.
    pub fn new(limits: SessionLimits) -> Kernel {
        Kernel { limits, state: KernelState::default() }
    }

    /// Decides on `input`. A refused input changes nothing.
    pub fn decide(&mut self, now: Timestamp, input: KernelInput) -> Result<Vec<KernelEffect>, InputRefusal> {
        decide::decide(&mut self.state, &self.limits, now, input)
    }

    /// Applies an event that was read from the log. [`Kernel::decide`] has already applied the events that it returns.
    pub fn apply_event(&mut self, entry: &LogEntry) -> Result<(), InvalidEvent> {
        self.state.apply_event(entry)
    }

    /// Shares the memory of a task at rest with `other`, a second kernel of this session, if both hold the same state
    /// of it.
    pub fn share_task(&mut self, id: TaskId, other: &Kernel) {
        self.state.tasks.share(id, &other.state.tasks);
    }

    /// The state of a task.
    pub fn task(&self, id: TaskId) -> Option<&KernelTask> {
        self.state.tasks.get(&id)
    }

    /// Every task, in the order of their ids.
    pub fn tasks(&self) -> impl Iterator<Item = &KernelTask> {
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
    pub fn busy_tasks(&self) -> usize {
        self.state.busy
    }

    /// What the whole session waits for, when every active agent is parked or waits for a parked one.
    pub fn parked(&self) -> Option<Parking> {
        self.state.parked()
    }

    /// Whether the provider of `model` has answered a request in this session.
    pub fn has_provider_answered(&self, model: &str) -> bool {
        self.state.calibration.has_provider_answered(model)
    }

    /// How many calls wait for a person's decision.
    pub fn open_asks(&self) -> usize {
        self.state.asks.len()
    }

    /// How many agents have started so far.
    pub fn started_agents(&self) -> u32 {
        self.state.started_agents
    }

    /// The session's mode, and the progress of the root's objective.
    pub fn root_control(&self) -> &RootControl {
        &self.state.root_control
    }

    /// Whether the root should be told to continue, with [`KernelInput::ContinueAutopilot`].
    pub fn is_continuation_due(&self) -> bool {
        self.state.is_continuation_due()
    }

    /// The todos, and the fleet that works through them.
    pub fn graph(&self) -> &TodoGraph {
        &self.state.graph
    }

    /// The todos that workers should be started for now: the ready ones, in order, as far as the limits allow.
    /// `default_agent` is the agent type for todos that do not name one.
    pub fn due_todos(&self, default_agent: &str) -> Vec<TodoId> {
        self.state.due_todos(&self.limits, default_agent)
    }

    /// The external task with this name, unless it was removed.
    pub fn external_task(&self, id: &ExternalTaskId) -> Option<&KernelTask> {
        self.state.external_task(id)
    }

    /// The time at which [`KernelInput::Tick`] is due.
    pub fn next_alarm(&self) -> Option<Timestamp> {
        self.state.alarms.first().map(|(at, ..)| *at)
    }
}
