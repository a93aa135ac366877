//! Why inputs are rejected.

use std::sync::Arc;

use kernel::InputRefusal;
use policy::RuleError;
use protocol::api::RefusalKind;
use store::StoreError;

/// Why an input was rejected.
#[derive(Debug, Clone, thiserror::Error)]
pub enum InputRejection {
    /// The kernel refused it.
    #[error(transparent)]
    Refused(#[from] InputRefusal),
    /// A decision contains an invalid rule.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A hook rejected the prompt.
    #[error("a hook rejected the prompt: {0}")]
    Hook(String),
    /// The session, in another process, rejected it.
    #[error("{message}")]
    Remote {
        /// The kind of rejection.
        kind: RefusalKind,
        /// Why.
        message: String,
    },
    /// The session is paused because a commit failed.
    #[error("the session is paused: {0}")]
    Paused(Arc<StoreError>),
    /// The supervisor has ended; this process no longer runs the session.
    #[error("the session has ended")]
    SessionEnded,
}

impl InputRejection {
    /// The kind of rejection, for programs that use the API.
    pub fn kind(&self) -> RefusalKind {
        match self {
            InputRejection::Refused(refusal) => kind(refusal),
            InputRejection::Rule(_) => RefusalKind::NoRule,
            InputRejection::Hook(_) => RefusalKind::Hook,
            InputRejection::Remote { kind, .. } => *kind,
            InputRejection::Paused(_) | InputRejection::SessionEnded => RefusalKind::Closed,
        }
    }
}

fn kind(refusal: &InputRefusal) -> RefusalKind {
    match refusal {
        InputRefusal::UnknownTask(_) => RefusalKind::NoTask,
        InputRefusal::Ended(_) => RefusalKind::Ended,
        InputRefusal::NotEnded(_) => RefusalKind::NotEnded,
        InputRefusal::Stopping(_) => RefusalKind::Stopping,
        InputRefusal::Closed => RefusalKind::Closed,
        InputRefusal::NoInbox { .. } => RefusalKind::NoInbox,
        InputRefusal::NotAwaited(_) => RefusalKind::NotAwaited,
        InputRefusal::NotRootChild(_) => RefusalKind::NotRootChild,
        InputRefusal::NoAsk(_) => RefusalKind::NoAsk,
        InputRefusal::DecisionMismatch(_) => RefusalKind::Invalid,
        InputRefusal::ExternalTaskLimit { .. }
        | InputRefusal::ClaimLimit { .. }
        | InputRefusal::Depth { .. }
        | InputRefusal::Total { .. }
        | InputRefusal::Rate { .. }
        | InputRefusal::NoneOfType { .. }
        | InputRefusal::CannotSpawn { .. }
        | InputRefusal::StopBlockLimit { .. }
        | InputRefusal::Turns { .. }
        | InputRefusal::Budget { .. }
        | InputRefusal::BudgetHeld { .. } => RefusalKind::Limit,
        InputRefusal::FleetRunning
        | InputRefusal::NoFleet
        | InputRefusal::TodoCycle(_)
        | InputRefusal::NoTodo(_)
        | InputRefusal::TodoClaimed { .. }
        | InputRefusal::TodoNotReady(_)
        | InputRefusal::NotPlanning
        | InputRefusal::NoObjective
        | InputRefusal::RootNotDue
        | InputRefusal::AlreadyOpen
        | InputRefusal::DuplicateId(_)
        | InputRefusal::StaleRun
        | InputRefusal::WrappedUp
        | InputRefusal::ObjectiveOver { .. }
        | InputRefusal::NoSlot
        | InputRefusal::TurnInProgress
        | InputRefusal::WrongTurn
        | InputRefusal::DuplicateCall(_)
        | InputRefusal::WrongCallPhase(_)
        | InputRefusal::MailWaiting
        | InputRefusal::NoFinalMessage
        | InputRefusal::WaitCycle(_)
        | InputRefusal::NotExternal(_)
        | InputRefusal::ExternalTaskNotOwned(_)
        | InputRefusal::ExternalTaskConflict { .. }
        | InputRefusal::InvalidEvent(_) => RefusalKind::State,
    }
}
