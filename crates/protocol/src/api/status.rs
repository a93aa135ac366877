//! A summary of a session's state, sent to subscribers whenever it changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ParkReason, TaskState, Timestamp};

/// A summary of a session's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The last event it takes into account; subscribers get that event first.
    pub seq: u64,
    /// Whether nothing is queued, running or parked, and no fleet is at work.
    pub quiet: bool,
    /// The root's state.
    pub root: Option<TaskState>,
    /// How many tasks below the root are queued, running or parked.
    pub background: u64,
    /// How many calls wait for a person's decision.
    pub asks: u64,
    /// Whether the root, on autopilot, is about to be told to continue.
    pub continuation_due: bool,
    /// Whether a fleet is at work. Between two workers, and while it merges, no task may be running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fleet: bool,
    /// Why the latest fleet cannot continue in the process that runs the session, for people; another process can
    /// resume it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet_failure: Option<String>,
    /// What the whole session waits for: every agent that is not at rest is parked or waits for a parked one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<ParkingView>,
    /// Why the session cannot continue, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
}

/// What a parked session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParkingView {
    /// When it resumes by itself; absent when a person must act first.
    pub until_at: Option<Timestamp>,
    /// The reason.
    pub why: ParkReason,
}

/// What a session does now. Every client that waits for the end of a run asks this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RunPhase {
    /// The root works, or is about to be told to continue, or a fleet is at work.
    Working,
    /// The root is at rest, and tasks below it work.
    Background,
    /// Nothing works until the parking is over.
    Parked(ParkingView),
    /// Nothing is left to do.
    Quiet,
    /// It cannot continue.
    Paused,
}

impl RunPhase {
    /// Whether only new input, or another owner, can continue the session.
    pub fn is_over(self) -> bool {
        match self {
            RunPhase::Quiet | RunPhase::Paused => true,
            RunPhase::Working | RunPhase::Background | RunPhase::Parked(_) => false,
        }
    }
}

/// The facts that decide the phase of a session.
#[derive(Debug, Clone, Copy)]
pub struct PhaseFacts<'a> {
    /// Whether the session cannot continue.
    pub is_paused: bool,
    /// Whether the root, on autopilot, is about to be told to continue.
    pub continuation_due: bool,
    /// What the whole session waits for.
    pub parked: Option<ParkingView>,
    /// Whether a fleet is at work.
    pub has_fleet: bool,
    /// The root's state.
    pub root: Option<&'a TaskState>,
    /// Whether tasks below the root are queued, running or parked.
    pub has_background: bool,
}

impl PhaseFacts<'_> {
    /// What the session does now.
    pub fn phase(self) -> RunPhase {
        if self.is_paused {
            return RunPhase::Paused;
        }
        // The root is idle, but about to be told to continue.
        if self.continuation_due {
            return RunPhase::Working;
        }
        if let Some(parked) = self.parked {
            return RunPhase::Parked(parked);
        }
        if self.has_fleet {
            return RunPhase::Working;
        }
        match (self.root.is_some_and(TaskState::is_at_rest), self.has_background) {
            (false, _) => RunPhase::Working,
            (true, true) => RunPhase::Background,
            (true, false) => RunPhase::Quiet,
        }
    }
}

impl StatusView {
    /// What the session does now.
    pub fn phase(&self) -> RunPhase {
        let facts = PhaseFacts {
            is_paused: self.paused.is_some(),
            continuation_due: self.continuation_due,
            parked: self.parked,
            has_fleet: self.fleet,
            root: self.root.as_ref(),
            has_background: self.background > 0,
        };
        facts.phase()
    }

    /// Whether the root works, waits for its turn, or is about to be told to continue.
    pub fn is_root_busy(&self) -> bool {
        self.root.as_ref().is_some_and(|root| !root.is_at_rest()) || self.continuation_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskOutcome;

    const QUOTA: ParkingView = ParkingView { until_at: Some(Timestamp(5)), why: ParkReason::Quota };

    fn roots() -> [(Option<TaskState>, bool); 7] {
        let parked = TaskState::Parked { until_at: QUOTA.until_at, why: QUOTA.why };
        [
            (None, false),
            (Some(TaskState::Queued), true),
            (Some(TaskState::Running), true),
            (Some(parked), true),
            (Some(TaskState::Idle), false),
            (Some(TaskState::Interrupted), false),
            (Some(TaskState::Finished { outcome: TaskOutcome::Completed }), false),
        ]
    }

    /// Every combination of what a status says, with the strongest reason first.
    #[test]
    fn the_phase_follows_from_the_status() {
        for (root, is_busy) in roots() {
            for continuation_due in [false, true] {
                for parked in [None, Some(QUOTA)] {
                    for (background, fleet) in [(0, false), (3, false), (0, true), (3, true)] {
                        let quiet = !is_busy && background == 0 && !fleet;
                        let (seq, asks, root) = (1, 0, root.clone());
                        let running = StatusView {
                            seq,
                            quiet,
                            root: root.clone(),
                            background,
                            asks,
                            continuation_due,
                            fleet,
                            fleet_failure: None,
                            parked,
                            paused: None,
                        };
                        let expected = match (continuation_due, parked, is_busy || fleet || root.is_none(), background)
                        {
                            (true, _, _, _) => RunPhase::Working,
                            (false, Some(parked), _, _) => RunPhase::Parked(parked),
                            (false, None, true, _) => RunPhase::Working,
                            (false, None, false, 0) => RunPhase::Quiet,
                            (false, None, false, _) => RunPhase::Background,
                        };
                        assert_eq!(running.phase(), expected, "{running:?}");
                        assert_eq!(running.is_root_busy(), is_busy || continuation_due, "{running:?}");
                        let paused = StatusView { paused: Some("no space".into()), ..running };
                        assert_eq!(paused.phase(), RunPhase::Paused);
                    }
                }
            }
        }
        assert!(RunPhase::Quiet.is_over() && RunPhase::Paused.is_over() && !RunPhase::Parked(QUOTA).is_over());
    }
}
