//! A task's phase, and the only function that changes it.

use protocol::{ParkReason, TaskOutcome, TaskState, Timestamp};

/// Where a task is in its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskPhase {
    /// It waits for a slot.
    Queued(QueuePurpose),
    /// It runs.
    Running(SlotStatus),
    /// It is between two activations.
    Idle,
    /// It cannot call its model for now.
    Parked(Parking),
    /// Its owner died or left.
    Interrupted,
    /// It ended for good.
    Finished(TaskOutcome),
}

/// What a parked task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parking {
    /// When it resumes automatically; absent when a person must act first.
    pub until: Option<Timestamp>,
    /// What it waits for.
    pub why: ParkReason,
}

impl Parking {
    /// Whether it is over by now.
    pub(crate) fn is_over(self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// What a queued task will do with its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuePurpose {
    /// Begin its next activation.
    Begin,
    /// Continue the activation that was interrupted or parked.
    Resume,
}

/// Whether a running task may call its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotStatus {
    /// It may: it holds a slot or needs none.
    Holding,
    /// It waits for other tasks and has lent its slot.
    Lent,
    /// Its waits are over and it is next in line for a slot.
    Returning,
}

/// A change of a task's situation that may change its phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseSignal {
    /// It got a slot, or needs none.
    Admit,
    /// It began to wait.
    Lend,
    /// Its last wait is over.
    Return,
    /// It has a slot again.
    Regain,
    /// It cannot call its model for now.
    Park(Parking),
    /// Its owner died or left.
    Interrupt,
    /// It may continue, or was woken.
    Requeue,
    /// Its activation ended.
    EndActivation,
    /// It ends for good.
    Finish(TaskOutcome),
}

impl TaskPhase {
    /// The phase after `signal`; none where the signal is not possible.
    pub fn next(self, signal: PhaseSignal) -> Option<TaskPhase> {
        use SlotStatus::{Holding, Lent, Returning};
        use TaskPhase::{Finished, Idle, Interrupted, Parked, Queued, Running};
        match (self, signal) {
            (Queued(_), PhaseSignal::Admit) => Some(Running(Holding)),
            (Running(Holding | Returning), PhaseSignal::Lend) => Some(Running(Lent)),
            (Running(Lent), PhaseSignal::Return) => Some(Running(Returning)),
            (Running(Returning), PhaseSignal::Regain) => Some(Running(Holding)),
            (Running(Holding), PhaseSignal::Park(parking)) => Some(Parked(parking)),
            (Running(_), PhaseSignal::Interrupt) => Some(Interrupted),
            (Idle, PhaseSignal::Requeue) => Some(Queued(QueuePurpose::Begin)),
            (Parked(_) | Interrupted, PhaseSignal::Requeue) => Some(Queued(QueuePurpose::Resume)),
            (Queued(_) | Running(_) | Parked(_) | Interrupted, PhaseSignal::EndActivation) => Some(Idle),
            (Queued(_) | Running(_) | Idle | Parked(_) | Interrupted, PhaseSignal::Finish(outcome)) => {
                Some(Finished(outcome))
            }
            (_from, _signal) => None,
        }
    }

    /// Whether the task counts as work in progress: a session is quiet when no task is busy.
    pub fn is_busy(&self) -> bool {
        match self {
            TaskPhase::Queued(_) | TaskPhase::Running(_) | TaskPhase::Parked(_) => true,
            TaskPhase::Idle | TaskPhase::Interrupted | TaskPhase::Finished(_) => false,
        }
    }

    /// Whether the latest activation is over.
    pub fn is_at_rest(&self) -> bool {
        match self {
            TaskPhase::Idle | TaskPhase::Finished(_) => true,
            TaskPhase::Queued(_) | TaskPhase::Running(_) | TaskPhase::Parked(_) | TaskPhase::Interrupted => false,
        }
    }

    /// The phase as a public state.
    pub fn state(&self) -> TaskState {
        match self {
            TaskPhase::Queued(_) => TaskState::Queued,
            TaskPhase::Running(_) => TaskState::Running,
            TaskPhase::Idle => TaskState::Idle,
            TaskPhase::Parked(Parking { until, why }) => TaskState::Parked { until_at: *until, why: *why },
            TaskPhase::Interrupted => TaskState::Interrupted,
            TaskPhase::Finished(outcome) => TaskState::Finished { outcome: outcome.clone() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn parked_until(at: u64) -> Parking {
        Parking { until: Some(Timestamp(at)), why: ParkReason::Quota }
    }

    const PHASES: [TaskPhase; 9] = [
        TaskPhase::Queued(QueuePurpose::Begin),
        TaskPhase::Queued(QueuePurpose::Resume),
        TaskPhase::Running(SlotStatus::Holding),
        TaskPhase::Running(SlotStatus::Lent),
        TaskPhase::Running(SlotStatus::Returning),
        TaskPhase::Idle,
        TaskPhase::Parked(parked_until(5)),
        TaskPhase::Interrupted,
        TaskPhase::Finished(TaskOutcome::Lost),
    ];

    /// Every phase under one signal, as a row of the table.
    fn row(signal: &PhaseSignal) -> Vec<Option<TaskPhase>> {
        PHASES.iter().map(|phase| phase.clone().next(signal.clone())).collect()
    }

    fn running(status: SlotStatus) -> Option<TaskPhase> {
        Some(TaskPhase::Running(status))
    }

    #[test]
    fn all_transitions_are_as_in_this_table() {
        use SlotStatus::{Holding, Lent, Returning};
        let begin = || Some(TaskPhase::Queued(QueuePurpose::Begin));
        let resume = || Some(TaskPhase::Queued(QueuePurpose::Resume));
        let idle = || Some(TaskPhase::Idle);
        let interrupted = || Some(TaskPhase::Interrupted);
        let done = || Some(TaskPhase::Finished(TaskOutcome::Completed));
        let n = || None;
        let cases = [
            (PhaseSignal::Admit, [running(Holding), running(Holding), n(), n(), n(), n(), n(), n(), n()]),
            (PhaseSignal::Lend, [n(), n(), running(Lent), n(), running(Lent), n(), n(), n(), n()]),
            (PhaseSignal::Return, [n(), n(), n(), running(Returning), n(), n(), n(), n(), n()]),
            (PhaseSignal::Regain, [n(), n(), n(), n(), running(Holding), n(), n(), n(), n()]),
            (
                PhaseSignal::Park(parked_until(8)),
                [n(), n(), Some(TaskPhase::Parked(parked_until(8))), n(), n(), n(), n(), n(), n()],
            ),
            (PhaseSignal::Interrupt, [n(), n(), interrupted(), interrupted(), interrupted(), n(), n(), n(), n()]),
            (PhaseSignal::Requeue, [n(), n(), n(), n(), n(), begin(), resume(), resume(), n()]),
            (PhaseSignal::EndActivation, [idle(), idle(), idle(), idle(), idle(), n(), idle(), idle(), n()]),
            (
                PhaseSignal::Finish(TaskOutcome::Completed),
                [done(), done(), done(), done(), done(), done(), done(), done(), n()],
            ),
        ];
        for (signal, expected) in cases {
            assert_eq!(row(&signal), expected, "{signal:?}");
        }
    }

    #[test]
    fn some_phases_are_busy_and_some_are_at_rest() {
        let busy: Vec<bool> = PHASES.iter().map(TaskPhase::is_busy).collect();
        assert_eq!(busy, [true, true, true, true, true, false, true, false, false]);
        let rest: Vec<bool> = PHASES.iter().map(TaskPhase::is_at_rest).collect();
        assert_eq!(rest, [false, false, false, false, false, true, false, false, true]);
    }

    #[test]
    fn every_phase_has_a_name() {
        let names: Vec<&str> = PHASES.iter().map(|phase| phase.state().as_str()).collect();
        let expected = ["queued", "queued", "running", "running", "running", "idle", "parked", "interrupted", "lost"];
        assert_eq!(names, expected);
    }
}
