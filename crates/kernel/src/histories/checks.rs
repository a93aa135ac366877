//! Checks of invariants that hold in every state.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use crate::index::Alarm;
use crate::state::SessionAdmission;
use crate::*;

pub(super) fn check_state(kernel: &Kernel, limits: &SessionLimits) {
    let mut names = BTreeSet::new();
    for task in kernel.tasks() {
        if let Some(parent) = task.parent {
            assert!(names.insert((parent, &task.name)), "two children share a name");
            let ended = kernel.task(parent).unwrap().is_finished();
            assert!(!ended || task.is_finished(), "a finished task has an unfinished child");
        }
        check_task(kernel, task);
    }
    check_lookups(kernel);
    check_slots(kernel, limits);
    check_ledgers(kernel);
}

fn check_task(kernel: &Kernel, task: &KernelTask) {
    if task.is_finished() {
        assert!(task.inbox.is_empty(), "a finished task has mail");
    }
    if task.mode == TaskMode::Sync && !task.phase.is_at_rest() {
        let waiters = kernel.state.waiters.get(&task.id).into_iter().flatten();
        assert!(
            waiters.into_iter().any(|(id, _)| Some(*id) == task.parent),
            "the parent does not wait for {}",
            task.id
        );
    }
    if task.wake_at.is_some() {
        let is_idle = task.phase == TaskPhase::Idle && kernel.state.admission == SessionAdmission::Open;
        assert!(
            is_idle && !task.results.is_empty() && task.has_only_results(),
            "{} delays its wake without results",
            task.id
        );
    }
    let at_work =
        |id: &&TaskId| kernel.task(**id).is_some_and(|child| child.kind.is_agent() && !child.phase.is_at_rest());
    assert_eq!(
        task.agents_at_work as usize,
        task.children.iter().filter(at_work).count(),
        "agents of {} at work",
        task.id
    );
    let may_stall = task.phase == TaskPhase::Running(SlotStatus::Holding) && !task.work.is_waiting();
    assert!(!task.stalled || may_stall, "{} is stalled although it has a reason to be silent", task.id);
    match task.cancel {
        Some((_, CancelMode::WrapUp)) => {
            assert!(!task.phase.is_at_rest() || task.is_finished(), "{} is idle despite a cancel request", task.id);
            assert!(task.is_finished() || task.cancel_until.is_some(), "{} has no deadline to stop", task.id);
        }
        Some((_, CancelMode::Abort)) => assert!(task.is_finished(), "{} was aborted but has not finished", task.id),
        None => assert_eq!(task.cancel_until, None),
    }
    for (call, wait) in task.work.waits() {
        let is_at_rest = |id: &TaskId| kernel.task(*id).unwrap().phase.is_at_rest();
        let satisfied = match wait.mode {
            WaitMode::Any => wait.awaited.is_empty() || wait.awaited.iter().any(is_at_rest),
            WaitMode::All => wait.awaited.iter().all(is_at_rest),
            WaitMode::Manual => false,
        };
        assert!(!satisfied, "the wait of {call} is satisfied but has not ended");
    }
}

/// Checks that the lookup tables agree with a scan of all tasks.
fn check_lookups(kernel: &Kernel) {
    let state = &kernel.state;
    let (mut waiters, mut alarms) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeSet::new());
    for task in kernel.tasks() {
        let mut add_alarm = |at: Option<Timestamp>, alarm| alarms.extend(at.map(|at| (at, task.id, alarm)));
        if let TaskPhase::Parked(parking) = task.phase {
            add_alarm(parking.until, Alarm::Parking);
        }
        add_alarm(task.lease, Alarm::Lease);
        add_alarm(task.wake_at, Alarm::Results);
        add_alarm(task.cancel_until.filter(|_| task.phase.is_busy()), Alarm::Grace);
        for ask in task.work.asks().filter(|_| task.is_running()) {
            add_alarm(ask.until_at, Alarm::Call(ask.call.clone()));
        }
        for (call, wait) in task.work.waits() {
            add_alarm(wait.until, Alarm::Call(call.clone()));
            for on in &wait.awaited {
                waiters.entry(*on).or_default().insert((task.id, call.clone()));
            }
        }
    }
    assert_eq!(state.waiters, waiters);
    assert_eq!(state.alarms, alarms);
    assert_eq!(
        state.busy,
        kernel.tasks().filter(|task| task.phase.is_busy() && task.kind.keeps_session_busy()).count()
    );
    check_parked(kernel);
}

/// Checks that a session is parked if an agent is parked and no agent can continue before that changes.
fn check_parked(kernel: &Kernel) {
    let agents = || kernel.tasks().filter(|task| task.kind.is_agent());
    let parked = |task: &KernelTask| matches!(task.phase, TaskPhase::Parked(_));
    let can_continue = |task: &KernelTask| match task.phase {
        TaskPhase::Queued(_) => true,
        TaskPhase::Running(_) => {
            let open = || task.work.calls().filter(|(_, phase)| **phase != CallPhase::Answered);
            let is_for_agents = |wait: &CallWait| {
                let is_agent_or_finished =
                    |id: &TaskId| kernel.task(*id).is_some_and(|on| on.kind.is_agent() || on.is_finished());
                !wait.awaited.is_empty() && wait.awaited.iter().all(is_agent_or_finished)
            };
            open().next().is_none()
                || open().any(|(_, phase)| !matches!(phase, CallPhase::Waiting(wait) if is_for_agents(wait)))
        }
        TaskPhase::Idle | TaskPhase::Parked(_) | TaskPhase::Interrupted | TaskPhase::Finished(_) => false,
    };
    assert_eq!(kernel.state.parked, agents().filter(|task| parked(task)).count());
    assert_eq!(kernel.parked().is_some(), agents().any(parked) && !agents().any(can_continue));
}

/// Checks that the running agents, including those that returned from a wait, do not exceed the limits of the session
/// and of their type, and that no slot is free while a queued agent could have it.
fn check_slots(kernel: &Kernel, limits: &SessionLimits) {
    let slots = &kernel.state.slots;
    let mut held = BTreeMap::<&str, u32>::new();
    for task in kernel.tasks().filter(|task| task.needs_slot()) {
        assert_eq!(slots.starting.contains(task.id), matches!(task.phase, TaskPhase::Queued(_)));
        assert_eq!(slots.returning.contains(task.id), task.phase == TaskPhase::Running(SlotStatus::Returning));
        let lent = task.phase == TaskPhase::Running(SlotStatus::Lent);
        assert!(!lent || task.work.is_waiting(), "a slot is lent but its task does not wait");
        if task.phase == TaskPhase::Running(SlotStatus::Holding) {
            *held.entry(&task.agent).or_default() += 1;
        }
    }
    assert_eq!(slots.held, held.values().sum::<u32>());
    assert!(slots.held <= limits.live, "too many agents run");
    for (kind, cap) in &limits.max_by_type {
        let held = held.get(kind.as_str()).copied().unwrap_or_default();
        assert_eq!(slots.held_by(kind), held);
        assert!(held <= *cap, "too many agents of the type {kind} run");
    }
    let has_room = |kind: &str| limits.max_by_type.get(kind).is_none_or(|cap| slots.held_by(kind) < *cap);
    let must_wait = kernel.state.memory == MemoryPressure::Tight && slots.held > 0;
    let next = slots.returning.first(has_room).or(slots.starting.first(has_room).filter(|_| !must_wait));
    let is_owned = kernel.tasks().any(KernelTask::is_running) && kernel.state.admission == SessionAdmission::Open;
    assert!(!is_owned || slots.held == limits.live || next.is_none(), "a slot is free although a task waits for it");
}

fn check_ledgers(kernel: &Kernel) {
    let mut reserved = BTreeMap::<TaskId, Cost>::new();
    for task in kernel.tasks() {
        let used = task.ledger.spent.plus(task.ledger.reserved);
        assert!(task.ledger.budget.allows(used), "{} exceeds its budget", task.id);
        if let ActivationWork::AwaitingModel(model_call) = &task.work {
            for ancestor in kernel.state.lineage(task.id) {
                let sum = reserved.entry(ancestor.id).or_default();
                *sum = sum.plus(model_call.reserved);
            }
        }
    }
    for task in kernel.tasks() {
        assert_eq!(task.ledger.reserved, reserved.get(&task.id).copied().unwrap_or_default());
    }
}

/// Asserts that a state rebuilt from the log equals the live state, except for values that are not durable.
pub(super) fn assert_same_durable_state(live: &Kernel, rebuilt: &Kernel) {
    let mut live = live.clone();
    live.state.memory = MemoryPressure::default();
    let has_volatile_values = |task: &&KernelTask| task.lease.is_some() || task.streamed_tokens.is_some();
    let volatile: Vec<TaskId> = live.tasks().filter(has_volatile_values).map(|task| task.id).collect();
    for id in volatile {
        let clear = |task: &mut KernelTask| {
            (task.lease, task.streamed_tokens) = (None, None);
            Ok(())
        };
        live.state.update(id, clear).unwrap();
    }
    assert_eq!(live, *rebuilt);
}

pub(super) fn assert_nothing_runs(kernel: &Kernel) {
    assert!(kernel.tasks().all(|task| !task.is_running()), "a task runs without an owner");
}

/// Asserts that every due alarm was handled: one that stays would be due at every tick.
pub(super) fn assert_no_late_alarm(kernel: &Kernel, now: Timestamp) {
    assert!(kernel.next_alarm().is_none_or(|at| at > now), "a due alarm was not handled");
}

/// Asserts that after an orderly end nothing is left to do.
pub(super) fn assert_at_rest(kernel: &Kernel) {
    let busy: Vec<_> = kernel.tasks().filter(|task| task.phase.is_busy()).collect();
    assert!(kernel.is_quiet(), "the session is still busy: {busy:?}");
    let state = &kernel.state;
    assert_eq!(state.slots.held, 0);
    assert!(state.waiters.is_empty() && state.alarms.is_empty() && state.asks.is_empty());
    for task in kernel.tasks() {
        assert_eq!(task.ledger.reserved, Cost::ZERO);
        assert!(task.phase.is_at_rest() && task.pending_stop_hooks.is_empty());
    }
}
