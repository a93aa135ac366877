//! Why inputs are not carried out.

use std::sync::Arc;

use kernel::Refusal;
use policy::RuleError;
use protocol::api::RefusalKind;
use store::StoreError;

/// Why an input was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Rejected {
    /// The kernel said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A decision carries a rule that is none.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A hook did not take a prompt.
    #[error("a hook did not take the prompt: {0}")]
    Hook(String),
    /// The session is paused, because what was decided could not be made durable.
    #[error("the session is paused: {0}")]
    Paused(Arc<StoreError>),
    /// The session's run is over.
    #[error("the session has ended")]
    Gone,
}

impl Rejected {
    /// The reason in a word that programs can tell apart.
    pub fn kind(&self) -> RefusalKind {
        match self {
            Rejected::Refused(refusal) => kind(refusal),
            Rejected::Rule(_) => RefusalKind::NoRule,
            Rejected::Hook(_) => RefusalKind::Hook,
            Rejected::Paused(_) | Rejected::Gone => RefusalKind::Closed,
        }
    }
}

fn kind(refusal: &Refusal) -> RefusalKind {
    match refusal {
        Refusal::UnknownTask(_) => RefusalKind::NoTask,
        Refusal::Ended(_) => RefusalKind::Ended,
        Refusal::NotEnded(_) => RefusalKind::NotEnded,
        Refusal::Stopping(_) => RefusalKind::Stopping,
        Refusal::Closed => RefusalKind::Closed,
        Refusal::NoInbox(_) => RefusalKind::NoInbox,
        Refusal::NotAwaited(_) => RefusalKind::NotAwaited,
        Refusal::NotRoots(_) => RefusalKind::NotRoots,
        Refusal::NoAsk(_) => RefusalKind::NoAsk,
        Refusal::Unfit(_) => RefusalKind::Unfit,
        Refusal::Errands { .. }
        | Refusal::TodosHeld { .. }
        | Refusal::Depth { .. }
        | Refusal::Total { .. }
        | Refusal::Rate { .. }
        | Refusal::NoneOfType { .. }
        | Refusal::NoParent(_)
        | Refusal::Holds { .. }
        | Refusal::Turns { .. }
        | Refusal::Budget { .. }
        | Refusal::BudgetHeld { .. } => RefusalKind::Limit,
        Refusal::FleetAtWork
        | Refusal::NoFleet
        | Refusal::TodoCycle(_)
        | Refusal::NoTodo(_)
        | Refusal::TodoHeld { .. }
        | Refusal::TodoNotReady(_)
        | Refusal::NoPlan
        | Refusal::NoObjective
        | Refusal::NotDue
        | Refusal::AlreadyOpen
        | Refusal::TakenId(_)
        | Refusal::Stale
        | Refusal::WrappedUp
        | Refusal::Closing { .. }
        | Refusal::NoSlot
        | Refusal::InTurn
        | Refusal::NoTurn
        | Refusal::SameCall(_)
        | Refusal::Call(_)
        | Refusal::MailWaiting
        | Refusal::NoAnswer
        | Refusal::WaitCycle(_)
        | Refusal::NoErrand(_)
        | Refusal::ErrandOwned(_)
        | Refusal::ErrandEnded(_)
        | Refusal::ErrandNotEnded(_)
        | Refusal::ErrandMoved { .. }
        | Refusal::Impossible(_) => RefusalKind::State,
    }
}
