//! How long nothing has been heard of a run, and what follows.

use std::time::Duration;

use protocol::Event;

use super::Watch;

/// How often it is looked.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// How long nothing has been heard of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Silence {
    looks: u32,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Brief,
    Stalled,
    GivenUp,
}

/// What a look at a run comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// It has been silent for so long that it is called stalled.
    Stalled(Duration),
    /// It was, and is heard again.
    Stirred,
    /// It has been silent for too long.
    GivenUp(Duration),
}

/// What a look heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    Something,
    Nothing,
}

impl Silence {
    /// Looks once more; each finding is made once.
    pub(super) fn look(&mut self, heard: Heard, watch: &Watch) -> Option<Finding> {
        match (heard, self.stage) {
            (Heard::Something, Stage::Brief) => {
                *self = Silence::default();
                None
            }
            (Heard::Something, Stage::Stalled) => {
                *self = Silence::default();
                Some(Finding::Stirred)
            }
            (_, Stage::GivenUp) => None,
            (Heard::Nothing, stage) => {
                self.looks = self.looks.saturating_add(1);
                let silent = LOOK.saturating_mul(self.looks);
                if silent >= watch.abort_after {
                    self.stage = Stage::GivenUp;
                    return Some(Finding::GivenUp(silent));
                }
                if silent >= watch.stall_after && stage == Stage::Brief {
                    self.stage = Stage::Stalled;
                    return Some(Finding::Stalled(silent));
                }
                None
            }
        }
    }
}

/// Whether an event shows that a task's run is at work. What others do to the task does not.
pub(crate) fn is_sign_of_life(event: &Event) -> bool {
    !matches!(
        event,
        Event::MailAdmitted { .. }
            | Event::MailExpired { .. }
            | Event::CancelRequested { .. }
            | Event::BudgetLow { .. }
            | Event::TaskStalled { .. }
            | Event::TaskStirred
            | Event::TaskPromoted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(stall: u64, abort: u64) -> Watch {
        let (stall_after, abort_after) = (Duration::from_secs(stall), Duration::from_secs(abort));
        Watch { stall_after, abort_after, ..Watch::default() }
    }

    /// What each look finds; a dot is silence, everything else a sign of life.
    fn findings(looks: &str, watch: &Watch) -> Vec<(usize, Finding)> {
        let mut silence = Silence::default();
        let heard = |look| if look == '.' { Heard::Nothing } else { Heard::Something };
        let found = looks.chars().enumerate();
        found.filter_map(|(at, look)| Some((at, silence.look(heard(look), watch)?))).collect()
    }

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn r6_silence_is_found_once_and_ends_with_the_first_sign() {
        let found = findings("..x...x....x", &watch(3, 9));
        let stalled = Finding::Stalled(secs(3));
        assert_eq!(found, [(5, stalled), (6, Finding::Stirred), (9, stalled), (11, Finding::Stirred)]);
    }

    #[test]
    fn r6_what_stays_silent_is_given_up_once() {
        let found = findings("x........x.", &watch(3, 5));
        assert_eq!(found, [(3, Finding::Stalled(secs(3))), (5, Finding::GivenUp(secs(5)))]);
    }

    #[test]
    fn r6_one_who_has_no_patience_gives_up_at_once() {
        assert_eq!(findings("...", &watch(5, 0)), [(0, Finding::GivenUp(secs(1)))]);
    }

    #[test]
    fn r6_mail_to_a_silent_task_is_no_sign_of_its_life() {
        assert!(!is_sign_of_life(&Event::TaskStirred));
        assert!(is_sign_of_life(&Event::SlotRegained));
    }
}
