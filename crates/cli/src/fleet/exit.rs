//! How a fleet ended: its exit code, and why it did not do everything.

use protocol::{FleetEnd, FleetStopReason, MergeDestination, MergeSummary, TodoStatus};

use super::progress::FleetProgress;
use crate::exit::CommandExit;

/// How a fleet's run in this process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FleetRunEnd {
    /// It ended, for this reason if neither its work nor the user ended it.
    Ended(FleetEnd, Option<FleetStopReason>),
    /// It cannot continue in this process, for this reason; another one can resume it.
    Broken(String),
    /// The session ended first; the next owner resumes it.
    SessionEnded,
}

impl FleetRunEnd {
    /// The end of a fleet that did everything.
    pub(crate) const DONE: FleetRunEnd = FleetRunEnd::Ended(FleetEnd::Done, None);

    /// Whether there was no usable plan.
    pub(crate) fn is_unplanned(&self) -> bool {
        matches!(self, FleetRunEnd::Ended(_, Some(FleetStopReason::Unplanned { .. })))
    }

    /// The exit code.
    pub(crate) fn exit(&self, progress: Option<&FleetProgress>) -> CommandExit {
        match self {
            FleetRunEnd::Ended(_, Some(FleetStopReason::Budget)) => CommandExit::Budget,
            FleetRunEnd::Ended(_, Some(FleetStopReason::Time)) => CommandExit::Limit,
            FleetRunEnd::Ended(_, Some(FleetStopReason::Unplanned { .. })) | FleetRunEnd::Broken(_) => {
                CommandExit::Failed
            }
            FleetRunEnd::Ended(end, Some(FleetStopReason::Unknown) | None) => end_exit(*end, progress),
            FleetRunEnd::SessionEnded => CommandExit::Cancelled,
        }
    }

    /// Why the fleet ended before its time, for the user.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            FleetRunEnd::Ended(_, Some(FleetStopReason::Unplanned { problem: reason }))
            | FleetRunEnd::Broken(reason) => Some(reason.clone()),
            FleetRunEnd::Ended(_, Some(FleetStopReason::Budget)) => Some("the session's budget is used up".into()),
            FleetRunEnd::Ended(_, Some(FleetStopReason::Time)) => Some("the time limit was reached".into()),
            FleetRunEnd::Ended(_, Some(FleetStopReason::Unknown) | None) | FleetRunEnd::SessionEnded => None,
        }
    }
}

fn end_exit(end: FleetEnd, progress: Option<&FleetProgress>) -> CommandExit {
    match end {
        FleetEnd::Done if progress.is_some_and(is_merge_unfinished) => CommandExit::Partial,
        FleetEnd::Done => CommandExit::Success,
        FleetEnd::Blocked => {
            let done = progress.map_or(0, |progress| progress.count(TodoStatus::Done));
            if done > 0 { CommandExit::Partial } else { CommandExit::Failed }
        }
        FleetEnd::Stopped => CommandExit::Cancelled,
    }
}

/// Whether `--merge` was given but the user's branch has not moved.
fn is_merge_unfinished(progress: &FleetProgress) -> bool {
    let is_not_landed = |merged: &MergeSummary| match merged.destination {
        MergeDestination::Branch { .. } | MergeDestination::RefOnly { .. } => true,
        MergeDestination::Landed { .. } | MergeDestination::NoChange => false,
    };
    progress.terms.merge && progress.merged.as_ref().is_some_and(is_not_landed)
}
