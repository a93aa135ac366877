//! Why the session rejected an input. A run distinguishes some reasons; the others are only a text for it.

use kernel::InputRefusal;
use protocol::api::RefusalKind;
use protocol::{CallId, Refusal, TaskId, WrapUpReason};
use serde::{Deserialize, Serialize};

use crate::supervisor::InputRejection;

/// A reply that may be a rejection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) enum WireOutcome<T> {
    Ok(T),
    Rejected(WireRejection),
}

impl<T> WireOutcome<T> {
    pub(in crate::remote_run) fn of<S: Into<T>>(result: Result<S, InputRejection>) -> WireOutcome<T> {
        match result {
            Ok(value) => WireOutcome::Ok(value.into()),
            Err(rejected) => WireOutcome::Rejected((&rejected).into()),
        }
    }

    pub(in crate::remote_run) fn into_result<S: From<T>>(self) -> Result<S, InputRejection> {
        match self {
            WireOutcome::Ok(value) => Ok(value.into()),
            WireOutcome::Rejected(rejected) => Err(rejected.into()),
        }
    }
}

/// Why the session cannot do what the run asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WireRefusal {
    message: String,
    hint: Option<String>,
}

impl From<Refusal> for WireRefusal {
    fn from(Refusal { message, hint }: Refusal) -> WireRefusal {
        WireRefusal { message, hint }
    }
}

impl From<WireRefusal> for Refusal {
    fn from(WireRefusal { message, hint }: WireRefusal) -> Refusal {
        Refusal { message, hint }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireRejection {
    NoSlot,
    TurnInProgress,
    WrongTurn,
    WrongCallPhase { call: CallId },
    MailWaiting,
    NoFinalMessage,
    WrappedUp,
    StaleRun,
    RootNotDue,
    ObjectiveOver { why: WrapUpReason },
    Turns { limit: u32 },
    Budget { task: TaskId },
    BudgetHeld { task: TaskId },
    StopBlockLimit { cap: u32 },
    SessionEnded,
    Other { kind: RefusalKind, message: String },
}

impl From<&InputRejection> for WireRejection {
    fn from(rejected: &InputRejection) -> WireRejection {
        let other = || WireRejection::Other { kind: rejected.kind(), message: rejected.to_string() };
        match rejected {
            InputRejection::Refused(refusal) => distinguished(refusal).unwrap_or_else(other),
            InputRejection::SessionEnded => WireRejection::SessionEnded,
            InputRejection::Rule(_)
            | InputRejection::Hook(_)
            | InputRejection::Paused(_)
            | InputRejection::Remote { .. } => other(),
        }
    }
}

/// The refusals that a run handles in its own way.
fn distinguished(refusal: &InputRefusal) -> Option<WireRejection> {
    match refusal {
        InputRefusal::NoSlot => Some(WireRejection::NoSlot),
        InputRefusal::TurnInProgress => Some(WireRejection::TurnInProgress),
        InputRefusal::WrongTurn => Some(WireRejection::WrongTurn),
        InputRefusal::WrongCallPhase(call) => Some(WireRejection::WrongCallPhase { call: call.clone() }),
        InputRefusal::MailWaiting => Some(WireRejection::MailWaiting),
        InputRefusal::NoFinalMessage => Some(WireRejection::NoFinalMessage),
        InputRefusal::WrappedUp => Some(WireRejection::WrappedUp),
        InputRefusal::StaleRun => Some(WireRejection::StaleRun),
        InputRefusal::RootNotDue => Some(WireRejection::RootNotDue),
        InputRefusal::ObjectiveOver { why } => Some(WireRejection::ObjectiveOver { why: *why }),
        InputRefusal::Turns { limit } => Some(WireRejection::Turns { limit: *limit }),
        InputRefusal::Budget { task } => Some(WireRejection::Budget { task: *task }),
        InputRefusal::BudgetHeld { task } => Some(WireRejection::BudgetHeld { task: *task }),
        InputRefusal::StopBlockLimit { cap } => Some(WireRejection::StopBlockLimit { cap: *cap }),
        InputRefusal::AlreadyOpen
        | InputRefusal::UnknownTask(_)
        | InputRefusal::DuplicateId(_)
        | InputRefusal::Closed
        | InputRefusal::Stopping(_)
        | InputRefusal::Ended(_)
        | InputRefusal::NoInbox { .. }
        | InputRefusal::CannotSpawn { .. }
        | InputRefusal::Depth { .. }
        | InputRefusal::Total { .. }
        | InputRefusal::NoneOfType { .. }
        | InputRefusal::FleetRunning
        | InputRefusal::NoFleet
        | InputRefusal::TodoCycle(_)
        | InputRefusal::NoTodo(_)
        | InputRefusal::TodoClaimed { .. }
        | InputRefusal::TodoNotReady(_)
        | InputRefusal::ClaimLimit { .. }
        | InputRefusal::NotPlanning
        | InputRefusal::NoObjective
        | InputRefusal::Rate { .. }
        | InputRefusal::NotRootChild(_)
        | InputRefusal::NotEnded(_)
        | InputRefusal::DuplicateCall(_)
        | InputRefusal::NotAwaited(_)
        | InputRefusal::WaitCycle(_)
        | InputRefusal::NoAsk(_)
        | InputRefusal::DecisionMismatch(_)
        | InputRefusal::NotExternal(_)
        | InputRefusal::ExternalTaskNotOwned(_)
        | InputRefusal::ExternalTaskConflict { .. }
        | InputRefusal::ExternalTaskLimit { .. }
        | InputRefusal::InvalidEvent(_) => None,
    }
}

impl From<WireRejection> for InputRejection {
    fn from(rejected: WireRejection) -> InputRejection {
        let refusal = match rejected {
            WireRejection::NoSlot => InputRefusal::NoSlot,
            WireRejection::TurnInProgress => InputRefusal::TurnInProgress,
            WireRejection::WrongTurn => InputRefusal::WrongTurn,
            WireRejection::WrongCallPhase { call } => InputRefusal::WrongCallPhase(call),
            WireRejection::MailWaiting => InputRefusal::MailWaiting,
            WireRejection::NoFinalMessage => InputRefusal::NoFinalMessage,
            WireRejection::WrappedUp => InputRefusal::WrappedUp,
            WireRejection::StaleRun => InputRefusal::StaleRun,
            WireRejection::RootNotDue => InputRefusal::RootNotDue,
            WireRejection::ObjectiveOver { why } => InputRefusal::ObjectiveOver { why },
            WireRejection::Turns { limit } => InputRefusal::Turns { limit },
            WireRejection::Budget { task } => InputRefusal::Budget { task },
            WireRejection::BudgetHeld { task } => InputRefusal::BudgetHeld { task },
            WireRejection::StopBlockLimit { cap } => InputRefusal::StopBlockLimit { cap },
            WireRejection::SessionEnded => return InputRejection::SessionEnded,
            WireRejection::Other { kind, message } => return InputRejection::Remote { kind, message },
        };
        InputRejection::Refused(refusal)
    }
}
