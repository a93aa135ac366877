//! What the kernel knows about one task.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use protocol::{
    Activation, Attempt, CallId, CancelBy, CancelMode, CompletionPolicy, ExternalReport, MailDelivery, MailId, RunId,
    TaskId, TaskMode, TaskSpec, TaskType, Timestamp, TodoId, Turn, WrapUpReason,
};

use crate::{ActivationWork, BudgetLedger, QueuePurpose, TaskPhase};

/// What the kernel knows about one task. Texts stay in the log; this holds only what decisions need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelTask {
    /// Its id.
    pub id: TaskId,
    /// The task that started it.
    pub parent: Option<TaskId>,
    /// The tasks it started, oldest first.
    pub children: Vec<TaskId>,
    /// Hashes of the children's names.
    pub(crate) child_names: BTreeSet<NameHash>,
    /// Its type.
    pub kind: TaskType,
    /// Its display name.
    pub name: String,
    /// The name of its agent definition.
    pub agent: Arc<str>,
    /// The tool call of its parent that started it.
    pub call: Option<CallId>,
    /// The todo it was started for.
    pub todo: Option<TodoId>,
    /// The todo whose changes it was started to merge with others.
    pub merges: Option<TodoId>,
    /// How far below the root.
    pub depth: u32,
    /// Where its result goes.
    pub mode: TaskMode,
    /// Its completion policy.
    pub on_complete: CompletionPolicy,
    /// Maximum turns of an activation.
    pub max_turns: Option<u32>,
    /// Its phase.
    pub phase: TaskPhase,
    /// The current work of its activation.
    pub work: ActivationWork,
    /// Its latest activation.
    pub activation: Activation,
    /// The latest attempt at this activation.
    pub attempt: Attempt,
    /// Its latest turn.
    pub turn: Turn,
    /// How many turns the activation has begun.
    pub turns: u32,
    /// Mail it has not read, oldest first.
    pub inbox: BTreeMap<MailId, MailDelivery>,
    /// The unread mail that is a result, with the task and activation that it is the result of.
    pub results: BTreeMap<MailId, (TaskId, Activation)>,
    /// When it is woken for delayed results, at the latest.
    pub wake_at: Option<Timestamp>,
    /// How often in a row results were delayed.
    pub result_delays: u32,
    /// How many of the agents it started have an activation that is queued, running, parked or interrupted.
    pub agents_at_work: u32,
    /// Who asked it to stop, and whether it may take a last turn.
    pub cancel: Option<(CancelBy, CancelMode)>,
    /// When a task that may still take a last turn is stopped at once.
    pub cancel_until: Option<Timestamp>,
    /// Whether its latest activation was stopped.
    pub stopped: bool,
    /// Whether it has been silent for too long.
    pub stalled: bool,
    /// How often hooks blocked the end of the activation.
    pub stop_blocks: u32,
    /// How often the activation tried again to meet its expectations.
    pub expectation_retries: u32,
    /// The latest activation whose start hooks have run.
    pub start_hooks_ran: Activation,
    /// Activations whose start hooks have run and whose stop hooks have not.
    pub pending_stop_hooks: BTreeSet<Activation>,
    /// Whether the user removed its record.
    pub forgotten: bool,
    /// The activation's last turn, once it is due.
    pub last_turn: Option<LastTurn>,
    /// What it and everything below it spent.
    pub ledger: BudgetLedger,
    /// Whether it was warned that little of its budget is left.
    pub has_low_budget_warning: bool,
    /// What its client reported, if a client does it itself.
    pub external: Option<Box<ExternalReport>>,
    /// When the lease of its run expires.
    pub lease: Option<Timestamp>,
    /// How much of the current answer has arrived, in tokens; not durable.
    pub streamed_tokens: Option<u32>,
}

/// The hash of a name, which saves memory: a parent may have thousands of children. On a collision, the second child
/// gets an unnecessary number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NameHash(u64);

impl NameHash {
    pub(crate) fn of(name: &str) -> NameHash {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        NameHash(hasher.finish())
    }
}

/// The state of an activation's last turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastTurn {
    /// It comes next.
    Due(WrapUpReason),
    /// Its model request was sent.
    Taken(WrapUpReason),
}

impl LastTurn {
    pub(crate) fn why(self) -> WrapUpReason {
        match self {
            LastTurn::Due(why) | LastTurn::Taken(why) => why,
        }
    }

    pub(crate) fn into_taken(self) -> LastTurn {
        match self {
            LastTurn::Due(why) | LastTurn::Taken(why) => LastTurn::Taken(why),
        }
    }

    pub(crate) fn into_due(self) -> LastTurn {
        match self {
            LastTurn::Due(why) | LastTurn::Taken(why) => LastTurn::Due(why),
        }
    }
}

impl KernelTask {
    pub(crate) fn new(id: TaskId, spec: &TaskSpec, agent: Arc<str>, depth: u32, at: Timestamp) -> KernelTask {
        // The root waits for its first message; every other task is created with its first mail.
        let phase = if spec.kind.is_root() { TaskPhase::Idle } else { TaskPhase::Queued(QueuePurpose::Begin) };
        KernelTask {
            id,
            parent: spec.parent,
            children: Vec::new(),
            child_names: BTreeSet::new(),
            kind: spec.kind,
            name: spec.name.clone(),
            agent,
            call: spec.call.clone(),
            todo: spec.todo.clone(),
            merges: spec.merges.clone(),
            depth,
            mode: spec.mode,
            on_complete: spec.on_complete,
            max_turns: spec.max_turns,
            phase,
            work: ActivationWork::NotBegun,
            activation: Activation(0),
            attempt: Attempt(0),
            turn: Turn(0),
            turns: 0,
            inbox: BTreeMap::new(),
            results: BTreeMap::new(),
            wake_at: None,
            result_delays: 0,
            agents_at_work: 0,
            cancel: None,
            cancel_until: None,
            stopped: false,
            stalled: false,
            stop_blocks: 0,
            expectation_retries: 0,
            start_hooks_ran: Activation(0),
            pending_stop_hooks: BTreeSet::new(),
            forgotten: false,
            last_turn: None,
            ledger: BudgetLedger::new(spec.budget),
            has_low_budget_warning: false,
            external: spec.external.clone().map(|spec| Box::new(ExternalReport::new(*spec, at))),
            lease: None,
            streamed_tokens: None,
        }
    }

    /// The run that may report for the task now.
    pub fn run_id(&self) -> RunId {
        RunId { task: self.id, activation: self.activation, attempt: self.attempt }
    }

    /// Whether a task that it started has this name, or one with the same hash.
    pub(crate) fn has_child(&self, name: &str) -> bool {
        self.child_names.contains(&NameHash::of(name))
    }

    /// Whether it needs one of the session's slots to run.
    pub fn needs_slot(&self) -> bool {
        self.kind.needs_slot()
    }

    /// Whether all its unread mail is results.
    pub(crate) fn has_only_results(&self) -> bool {
        self.inbox.len() == self.results.len()
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        matches!(self.phase, TaskPhase::Running(_))
    }

    /// Whether it has ended for good.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, TaskPhase::Finished(_))
    }
}
