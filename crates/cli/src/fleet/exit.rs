//! The exit code of a fleet, and why it did not do everything.

use protocol::{FleetEnd, MergeDestination, MergeSummary, TodoStatus};
use runtime::{FleetLimit, FleetOutcome};

use super::progress::FleetProgress;
use crate::exit::CommandExit;

/// The exit code of a fleet that has ended.
pub(crate) fn fleet_exit(
    outcome: &FleetOutcome,
    progress: Option<&FleetProgress>,
    merged: Option<&MergeSummary>,
) -> CommandExit {
    match outcome {
        FleetOutcome::Ended(FleetEnd::Done) if is_merge_unfinished(progress, merged) => CommandExit::Partial,
        FleetOutcome::Ended(FleetEnd::Done) => CommandExit::Success,
        FleetOutcome::Ended(FleetEnd::Blocked) => {
            let done = progress.map_or(0, |progress| progress.count(TodoStatus::Done));
            if done > 0 { CommandExit::Partial } else { CommandExit::Failed }
        }
        FleetOutcome::Ended(FleetEnd::Stopped) | FleetOutcome::SessionEnded => CommandExit::Cancelled,
        FleetOutcome::Halted(FleetLimit::Budget) => CommandExit::Budget,
        FleetOutcome::Halted(FleetLimit::Time) => CommandExit::Limit,
        FleetOutcome::Unplanned(_) | FleetOutcome::Broken(_) => CommandExit::Failed,
    }
}

/// Why a fleet ended before its time, for the user.
pub(crate) fn fleet_message(outcome: &FleetOutcome) -> Option<String> {
    match outcome {
        FleetOutcome::Unplanned(reason) | FleetOutcome::Broken(reason) => Some(reason.clone()),
        FleetOutcome::Halted(FleetLimit::Budget) => Some("the session's budget is used up".into()),
        FleetOutcome::Halted(FleetLimit::Time) => Some("the time limit was reached".into()),
        FleetOutcome::Ended(_) | FleetOutcome::SessionEnded => None,
    }
}

/// Whether `--merge` was given but the user's branch has not moved.
fn is_merge_unfinished(progress: Option<&FleetProgress>, merged: Option<&MergeSummary>) -> bool {
    let merge_requested = progress.is_some_and(|progress| progress.terms.merge);
    let is_not_landed = |merged: &MergeSummary| match merged.destination {
        MergeDestination::Branch { .. } | MergeDestination::RefOnly { .. } => true,
        MergeDestination::Landed { .. } | MergeDestination::NoChange => false,
    };
    merge_requested && merged.is_some_and(is_not_landed)
}
