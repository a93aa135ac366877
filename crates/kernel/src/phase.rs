//! A task's phase, and the only function that changes it.

use protocol::{At, Outcome, ParkReason, TaskState};

/// Where a task is in its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// It waits for a slot.
    Queued(Purpose),
    /// It runs.
    Running(Footing),
    /// It rests between activations.
    Idle,
    /// It cannot ask its model for now.
    Parked(Parking),
    /// Its owner died or left.
    Interrupted,
    /// It ended for good.
    Finished(Outcome),
}

/// What a task that cannot ask its model waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parking {
    /// When it resumes by itself; absent when only a person can change that.
    pub until: Option<At>,
    /// What it waits for.
    pub why: ParkReason,
}

impl Parking {
    /// Whether it is over by now.
    pub(crate) fn is_over(self, now: At) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// What a queued task will do with its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Begin its next activation.
    Begin,
    /// Go on with the activation that was interrupted or parked.
    GoOn,
}

/// Whether a running task may ask its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Footing {
    /// It may.
    Slot,
    /// It waits for other tasks and has lent its slot.
    Lent,
    /// Its waits are over and it is next in line for a slot.
    Returning,
}

/// What moves a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// A slot is given, or none is needed.
    Admit,
    /// The last thing it did was to wait.
    Lend,
    /// Its last wait is over.
    Return,
    /// It has a slot again.
    Regain,
    /// It cannot ask its model for now.
    Park(Parking),
    /// Its owner died or left.
    Interrupt,
    /// It may go on, or was woken.
    Requeue,
    /// Its activation ended.
    Rest,
    /// It ends for good.
    Finish(Outcome),
}

impl Phase {
    /// The phase after `signal`; none where the signal makes no sense.
    pub fn next(self, signal: Signal) -> Option<Phase> {
        use Footing::{Lent, Returning, Slot};
        use Phase::{Finished, Idle, Interrupted, Parked, Queued, Running};
        match (self, signal) {
            (Queued(_), Signal::Admit) => Some(Running(Slot)),
            (Running(Slot | Returning), Signal::Lend) => Some(Running(Lent)),
            (Running(Lent), Signal::Return) => Some(Running(Returning)),
            (Running(Returning), Signal::Regain) => Some(Running(Slot)),
            (Running(Slot), Signal::Park(parking)) => Some(Parked(parking)),
            (Running(_), Signal::Interrupt) => Some(Interrupted),
            (Idle, Signal::Requeue) => Some(Queued(Purpose::Begin)),
            (Parked(_) | Interrupted, Signal::Requeue) => Some(Queued(Purpose::GoOn)),
            (Queued(_) | Running(_) | Parked(_) | Interrupted, Signal::Rest) => Some(Idle),
            (Queued(_) | Running(_) | Idle | Parked(_) | Interrupted, Signal::Finish(outcome)) => {
                Some(Finished(outcome))
            }
            (_from, _signal) => None,
        }
    }

    /// Whether the task counts as work under way: a session is quiet when none of its tasks does.
    pub fn is_busy(&self) -> bool {
        match self {
            Phase::Queued(_) | Phase::Running(_) | Phase::Parked(_) => true,
            Phase::Idle | Phase::Interrupted | Phase::Finished(_) => false,
        }
    }

    /// Whether the latest activation is over.
    pub fn is_at_rest(&self) -> bool {
        match self {
            Phase::Idle | Phase::Finished(_) => true,
            Phase::Queued(_) | Phase::Running(_) | Phase::Parked(_) | Phase::Interrupted => false,
        }
    }

    /// The phase in the words every view uses.
    pub fn state(&self) -> TaskState {
        match self {
            Phase::Queued(_) => TaskState::Queued,
            Phase::Running(_) => TaskState::Running,
            Phase::Idle => TaskState::Idle,
            Phase::Parked(Parking { until, why }) => TaskState::Parked { until_at: *until, why: *why },
            Phase::Interrupted => TaskState::Interrupted,
            Phase::Finished(outcome) => TaskState::Finished { outcome: outcome.clone() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn until(at: u64) -> Parking {
        Parking { until: Some(At(at)), why: ParkReason::Quota }
    }

    const PHASES: [Phase; 9] = [
        Phase::Queued(Purpose::Begin),
        Phase::Queued(Purpose::GoOn),
        Phase::Running(Footing::Slot),
        Phase::Running(Footing::Lent),
        Phase::Running(Footing::Returning),
        Phase::Idle,
        Phase::Parked(until(5)),
        Phase::Interrupted,
        Phase::Finished(Outcome::Lost),
    ];

    /// Every phase under one signal, as a row of the table.
    fn row(signal: &Signal) -> Vec<Option<Phase>> {
        PHASES.iter().map(|phase| phase.clone().next(signal.clone())).collect()
    }

    fn running(footing: Footing) -> Option<Phase> {
        Some(Phase::Running(footing))
    }

    #[test]
    fn r2_the_table_of_moves_is_exactly_this() {
        use Footing::{Lent, Returning, Slot};
        let begin = || Some(Phase::Queued(Purpose::Begin));
        let go_on = || Some(Phase::Queued(Purpose::GoOn));
        let idle = || Some(Phase::Idle);
        let cut = || Some(Phase::Interrupted);
        let done = || Some(Phase::Finished(Outcome::Completed));
        let n = || None;
        let cases = [
            (Signal::Admit, [running(Slot), running(Slot), n(), n(), n(), n(), n(), n(), n()]),
            (Signal::Lend, [n(), n(), running(Lent), n(), running(Lent), n(), n(), n(), n()]),
            (Signal::Return, [n(), n(), n(), running(Returning), n(), n(), n(), n(), n()]),
            (Signal::Regain, [n(), n(), n(), n(), running(Slot), n(), n(), n(), n()]),
            (Signal::Park(until(8)), [n(), n(), Some(Phase::Parked(until(8))), n(), n(), n(), n(), n(), n()]),
            (Signal::Interrupt, [n(), n(), cut(), cut(), cut(), n(), n(), n(), n()]),
            (Signal::Requeue, [n(), n(), n(), n(), n(), begin(), go_on(), go_on(), n()]),
            (Signal::Rest, [idle(), idle(), idle(), idle(), idle(), n(), idle(), idle(), n()]),
            (Signal::Finish(Outcome::Completed), [done(), done(), done(), done(), done(), done(), done(), done(), n()]),
        ];
        for (signal, expected) in cases {
            assert_eq!(row(&signal), expected, "{signal:?}");
        }
    }

    #[test]
    fn busy_and_at_rest_say_what_is_under_way() {
        let busy: Vec<bool> = PHASES.iter().map(Phase::is_busy).collect();
        assert_eq!(busy, [true, true, true, true, true, false, true, false, false]);
        let rest: Vec<bool> = PHASES.iter().map(Phase::is_at_rest).collect();
        assert_eq!(rest, [false, false, false, false, false, true, false, false, true]);
    }

    #[test]
    fn every_phase_has_its_word() {
        let words: Vec<&str> = PHASES.iter().map(|phase| phase.state().word()).collect();
        let expected = ["queued", "queued", "running", "running", "running", "idle", "parked", "interrupted", "lost"];
        assert_eq!(words, expected);
    }
}
