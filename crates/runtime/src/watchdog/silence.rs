//! How long a run has been silent, and what follows.

use std::time::Duration;

use protocol::Event;

use super::WatchdogSettings;

/// The interval of checks.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a run has been silent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SilenceTracker {
    /// How many checks in a row found the run silent.
    checks: u32,
    stage: SilenceStage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SilenceStage {
    #[default]
    Brief,
    Stalled,
    Aborted,
}

/// The finding of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StallFinding {
    /// The run has been silent for this long and is marked as stalled.
    Stalled(Duration),
    /// A stalled run is active again.
    Recovered,
    /// The run has been silent for too long.
    Aborted(Duration),
}

/// The activity since the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunActivity {
    Active,
    Silent,
}

impl SilenceTracker {
    /// Records one check; each finding is returned once.
    pub(super) fn record_check(&mut self, activity: RunActivity, settings: &WatchdogSettings) -> Option<StallFinding> {
        match (activity, self.stage) {
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
                self.checks = self.checks.saturating_add(1);
                let silent = CHECK_INTERVAL.saturating_mul(self.checks);
                if silent >= settings.abort_after {
                    self.stage = SilenceStage::Aborted;
                    return Some(StallFinding::Aborted(silent));
                }
                if silent >= settings.stall_after && stage == SilenceStage::Brief {
                    self.stage = SilenceStage::Stalled;
                    return Some(StallFinding::Stalled(silent));
                }
                None
            }
        }
    }
}

/// Whether an event shows that a task's run is at work. Actions of other tasks and the user do not.
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

    fn settings(stall: u64, abort: u64) -> WatchdogSettings {
        let (stall_after, abort_after) = (Duration::from_secs(stall), Duration::from_secs(abort));
        WatchdogSettings { stall_after, abort_after, ..WatchdogSettings::default() }
    }

    /// The findings with the number of their check. In `checks`, a dot is silence, everything else a sign of life.
    fn findings(checks: &str, settings: &WatchdogSettings) -> Vec<(usize, StallFinding)> {
        let mut silence = SilenceTracker::default();
        let activity = |check| if check == '.' { RunActivity::Silent } else { RunActivity::Active };
        let checks = checks.chars().enumerate();
        checks.filter_map(|(n, check)| Some((n, silence.record_check(activity(check), settings)?))).collect()
    }

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn a_stall_is_found_once_and_ends_with_the_first_activity() {
        let found = findings("..x...x....x", &settings(3, 9));
        let stalled = StallFinding::Stalled(secs(3));
        assert_eq!(found, [(5, stalled), (6, StallFinding::Recovered), (9, stalled), (11, StallFinding::Recovered)]);
    }

    #[test]
    fn a_run_that_stays_silent_is_aborted_once() {
        let found = findings("x........x.", &settings(3, 5));
        assert_eq!(found, [(3, StallFinding::Stalled(secs(3))), (5, StallFinding::Aborted(secs(5)))]);
    }

    #[test]
    fn without_an_abort_delay_a_silent_run_is_aborted_at_once() {
        assert_eq!(findings("...", &settings(5, 0)), [(0, StallFinding::Aborted(secs(1)))]);
    }

    #[test]
    fn actions_of_others_are_not_a_sign_of_life() {
        assert!(!is_sign_of_life(&Event::TaskUnstalled));
        assert!(is_sign_of_life(&Event::SlotRegained));
    }
}
