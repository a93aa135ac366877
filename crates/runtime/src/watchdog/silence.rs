//! How long nothing has been heard of a run, and what follows.

use std::time::Duration;

use protocol::Event;

use super::WatchdogSettings;

/// How often it is looked.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// How long nothing has been heard of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SilenceTracker {
    looks: u32,
    stage: SilenceStage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SilenceStage {
    #[default]
    Brief,
    Stalled,
    Aborted,
}

/// What a look at a run comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StallFinding {
    /// It has been silent for so long that it is called stalled.
    Stalled(Duration),
    /// It was, and is heard again.
    Recovered,
    /// It has been silent for too long.
    Aborted(Duration),
}

/// What a look heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunActivity {
    Active,
    Silent,
}

impl SilenceTracker {
    /// Looks once more; each finding is made once.
    pub(super) fn look(&mut self, heard: RunActivity, watch: &WatchdogSettings) -> Option<StallFinding> {
        match (heard, self.stage) {
            (RunActivity::Active, SilenceStage::Brief) => {
                *self = SilenceTracker::default();
                None
            }
            (RunActivity::Active, SilenceStage::Stalled) => {
                *self = SilenceTracker::default();
                Some(StallFinding::Recovered)
            }
            (_, SilenceStage::Aborted) => None,
            (RunActivity::Silent, stage) => {
                self.looks = self.looks.saturating_add(1);
                let silent = LOOK.saturating_mul(self.looks);
                if silent >= watch.abort_after {
                    self.stage = SilenceStage::Aborted;
                    return Some(StallFinding::Aborted(silent));
                }
                if silent >= watch.stall_after && stage == SilenceStage::Brief {
                    self.stage = SilenceStage::Stalled;
                    return Some(StallFinding::Stalled(silent));
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
            | Event::TaskUnstalled
            | Event::TaskPromoted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(stall: u64, abort: u64) -> WatchdogSettings {
        let (stall_after, abort_after) = (Duration::from_secs(stall), Duration::from_secs(abort));
        WatchdogSettings { stall_after, abort_after, ..WatchdogSettings::default() }
    }

    /// What each look finds; a dot is silence, everything else a sign of life.
    fn findings(looks: &str, watch: &WatchdogSettings) -> Vec<(usize, StallFinding)> {
        let mut silence = SilenceTracker::default();
        let heard = |look| if look == '.' { RunActivity::Silent } else { RunActivity::Active };
        let found = looks.chars().enumerate();
        found.filter_map(|(at, look)| Some((at, silence.look(heard(look), watch)?))).collect()
    }

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn silence_is_found_once_and_ends_with_the_first_sign() {
        let found = findings("..x...x....x", &watch(3, 9));
        let stalled = StallFinding::Stalled(secs(3));
        assert_eq!(found, [(5, stalled), (6, StallFinding::Recovered), (9, stalled), (11, StallFinding::Recovered)]);
    }

    #[test]
    fn what_stays_silent_is_given_up_once() {
        let found = findings("x........x.", &watch(3, 5));
        assert_eq!(found, [(3, StallFinding::Stalled(secs(3))), (5, StallFinding::Aborted(secs(5)))]);
    }

    #[test]
    fn one_who_has_no_patience_gives_up_at_once() {
        assert_eq!(findings("...", &watch(5, 0)), [(0, StallFinding::Aborted(secs(1)))]);
    }

    #[test]
    fn mail_to_a_silent_task_is_no_sign_of_its_life() {
        assert!(!is_sign_of_life(&Event::TaskUnstalled));
        assert!(is_sign_of_life(&Event::SlotRegained));
    }
}
