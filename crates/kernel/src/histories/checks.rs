//! Invariants of every state.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use crate::index::Alarm;
use crate::state::SessionAdmission;
use crate::*;

pub(super) fn check(kernel: &Kernel, limits: &SessionLimits) {
    let mut names = BTreeSet::new();
    for task in kernel.tasks() {
        if let Some(parent) = task.parent {
            assert!(names.insert((parent, &task.name)), "two children share a name");
            let ended = kernel.task(parent).unwrap().is_finished();
            assert!(!ended || task.is_finished(), "an ended task has a living child");
        }
        check_task(kernel, task);
    }
    check_lookups(kernel);
    check_slots(kernel, limits);
    check_ledgers(kernel);
}

fn check_task(kernel: &Kernel, task: &KernelTask) {
    if task.is_finished() {
        assert!(task.inbox.is_empty(), "an ended task has mail");
    }
    if task.mode == TaskMode::Sync && !task.phase.is_at_rest() {
        let waiters = kernel.state.waiters.get(&task.id).into_iter().flatten();
        assert!(waiters.into_iter().any(|(id, _)| Some(*id) == task.parent), "nobody waits for {}", task.id);
    }
    if task.wake_at.is_some() {
        let rests = task.phase == TaskPhase::Idle && kernel.state.admission == SessionAdmission::Open;
        assert!(rests && !task.results.is_empty() && task.has_only_results(), "{} waits for nothing", task.id);
    }
    let at_work = |id: &&TaskId| {
        kernel.task(**id).is_some_and(|child| child.kind == TaskType::Agent && !child.phase.is_at_rest())
    };
    assert_eq!(task.at_work as usize, task.children.iter().filter(at_work).count(), "agents of {} at work", task.id);
    let works = task.phase == TaskPhase::Running(SlotStatus::Holding) && !task.work.is_waiting();
    assert!(!task.stalled || works, "{} is stalled, and has a reason to be silent", task.id);
    match task.cancel {
        Some((_, CancelMode::WrapUp)) => {
            assert!(!task.phase.is_at_rest() || task.is_finished(), "{} rests and is to stop", task.id);
            assert!(task.is_finished() || task.cancel_until.is_some(), "{} may take its time to stop", task.id);
        }
        Some((_, CancelMode::Abort)) => assert!(task.is_finished(), "{} was to stop at once", task.id),
        None => assert_eq!(task.cancel_until, None),
    }
    for (call, wait) in task.work.waits() {
        let done = |id: &TaskId| kernel.task(*id).unwrap().phase.is_at_rest();
        let satisfied = match wait.mode {
            WaitMode::Any => wait.on.is_empty() || wait.on.iter().any(done),
            WaitMode::All => wait.on.iter().all(done),
            WaitMode::Manual => false,
        };
        assert!(!satisfied, "the wait of {call} is over and goes on");
    }
}

/// The lookup tables agree with a scan of all tasks.
fn check_lookups(kernel: &Kernel) {
    let state = &kernel.state;
    let (mut waiters, mut alarms) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeSet::new());
    for task in kernel.tasks() {
        let mut set = |at: Option<Timestamp>, alarm| alarms.extend(at.map(|at| (at, task.id, alarm)));
        if let TaskPhase::Parked(parking) = task.phase {
            set(parking.until, Alarm::Quota);
        }
        set(task.lease, Alarm::Lease);
        set(task.wake_at, Alarm::Results);
        set(task.cancel_until.filter(|_| task.phase.is_busy()), Alarm::Grace);
        for ask in task.work.asks().filter(|_| task.is_running()) {
            set(ask.until_at, Alarm::Call(ask.call.clone()));
        }
        for (call, wait) in task.work.waits() {
            set(wait.until, Alarm::Call(call.clone()));
            for on in &wait.on {
                waiters.entry(*on).or_default().insert((task.id, call.clone()));
            }
        }
    }
    assert_eq!(state.waiters, waiters);
    assert_eq!(state.alarms, alarms);
    assert_eq!(state.busy, kernel.tasks().filter(|task| task.phase.is_busy()).count());
    check_parked(kernel);
}

/// A session is parked when an agent is, and no agent can continue before that changes.
fn check_parked(kernel: &Kernel) {
    let agents = || kernel.tasks().filter(|task| task.kind != TaskType::Shell);
    let parked = |task: &KernelTask| matches!(task.phase, TaskPhase::Parked(_));
    let can_go_on = |task: &KernelTask| match task.phase {
        TaskPhase::Queued(_) => true,
        TaskPhase::Running(_) => {
            let open = || task.work.calls().filter(|(_, phase)| **phase != CallPhase::Answered);
            let for_agents = |wait: &CallWait| {
                let agent =
                    |id: &TaskId| kernel.task(*id).is_some_and(|on| on.kind != TaskType::Shell || on.is_finished());
                !wait.on.is_empty() && wait.on.iter().all(agent)
            };
            open().next().is_none()
                || open().any(|(_, phase)| !matches!(phase, CallPhase::Waiting(wait) if for_agents(wait)))
        }
        TaskPhase::Idle | TaskPhase::Parked(_) | TaskPhase::Interrupted | TaskPhase::Finished(_) => false,
    };
    assert_eq!(kernel.state.parked, agents().filter(|task| parked(task)).count());
    assert_eq!(kernel.parked().is_some(), agents().any(parked) && !agents().any(can_go_on));
}

/// Running agents are within the caps of the session and of their type, including those that returned from a wait; and
/// no slot is free while a queued agent could have it.
fn check_slots(kernel: &Kernel, limits: &SessionLimits) {
    let slots = &kernel.state.slots;
    let mut held = BTreeMap::<&str, u32>::new();
    for task in kernel.tasks().filter(|task| task.needs_slot()) {
        assert_eq!(slots.starting.contains(task.id), matches!(task.phase, TaskPhase::Queued(_)));
        assert_eq!(slots.returning.contains(task.id), task.phase == TaskPhase::Running(SlotStatus::Returning));
        let lent = task.phase == TaskPhase::Running(SlotStatus::Lent);
        assert!(!lent || task.work.is_waiting(), "a slot is lent for nothing");
        if task.phase == TaskPhase::Running(SlotStatus::Holding) {
            *held.entry(&task.agent).or_default() += 1;
        }
    }
    assert_eq!(slots.held, held.values().sum::<u32>());
    assert!(slots.held <= limits.live, "more agents run than may");
    for (kind, cap) in &limits.of_type {
        let held = held.get(kind.as_str()).copied().unwrap_or_default();
        assert_eq!(slots.held_by(kind), held);
        assert!(held <= *cap, "more agents of the type {kind} run than may");
    }
    let has_room = |kind: &str| limits.of_type.get(kind).is_none_or(|cap| slots.held_by(kind) < *cap);
    let tight = kernel.state.memory == MemoryPressure::Tight && slots.held > 0;
    let next = slots.returning.first(has_room).or(slots.starting.first(has_room).filter(|_| !tight));
    let owned = kernel.tasks().any(KernelTask::is_running) && kernel.state.admission == SessionAdmission::Open;
    assert!(!owned || slots.held == limits.live || next.is_none(), "a slot is free and somebody waits for it");
}

fn check_ledgers(kernel: &Kernel) {
    let mut asking = BTreeMap::<TaskId, Cost>::new();
    for task in kernel.tasks() {
        let booked = task.ledger.spent.plus(task.ledger.reserved);
        assert!(task.ledger.budget.allows(booked), "{} spent past its budget", task.id);
        if let ActivationWork::Asking(asked) = &task.work {
            for above in kernel.state.lineage(task.id) {
                let sum = asking.entry(above.id).or_default();
                *sum = sum.plus(asked.reserved);
            }
        }
    }
    for task in kernel.tasks() {
        assert_eq!(task.ledger.reserved, asking.get(&task.id).copied().unwrap_or_default());
    }
}

/// A state rebuilt from the log equals the state that wrote it, except for what is not durable.
pub(super) fn same_but_for_leases_and_memory(live: &Kernel, folded: &Kernel) {
    let mut live = live.clone();
    live.state.memory = MemoryPressure::default();
    let fleeting = |task: &&KernelTask| task.lease.is_some() || task.streamed.is_some();
    let leased: Vec<TaskId> = live.tasks().filter(fleeting).map(|task| task.id).collect();
    for id in leased {
        let unlease = |task: &mut KernelTask| {
            (task.lease, task.streamed) = (None, None);
            Ok(())
        };
        live.state.update(id, unlease).unwrap();
    }
    assert_eq!(live, *folded);
}

pub(super) fn nobody_runs(kernel: &Kernel) {
    assert!(kernel.tasks().all(|task| !task.is_running()), "a task runs without an owner");
}

/// Everything that was due was handled: an alarm that stays would ring forever.
pub(super) fn no_alarm_is_late(kernel: &Kernel, now: Timestamp) {
    assert!(kernel.next_alarm().is_none_or(|at| at > now), "an alarm rang and nothing happened");
}

/// After an orderly end nothing is left to do.
pub(super) fn at_rest(kernel: &Kernel) {
    let busy: Vec<_> = kernel.tasks().filter(|task| task.phase.is_busy()).collect();
    assert!(kernel.is_quiet(), "the session did not come to rest: {busy:?}");
    let state = &kernel.state;
    assert_eq!(state.slots.held, 0);
    assert!(state.waiters.is_empty() && state.alarms.is_empty() && state.asks.is_empty());
    for task in kernel.tasks() {
        assert_eq!(task.ledger.reserved, Cost::ZERO);
        assert!(task.phase.is_at_rest() && task.pending_stop_hooks.is_empty());
    }
}
