//! Why work cannot be merged.

use git::GitError;
use host::HomeError;
use protocol::{Hinted, Refusal};
use runtime::InputRejection;
use store::StoreError;

use crate::worker::WorkerError;

/// Why merging stops. What was merged by then stays merged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MergeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The session refuses it.
    #[error("{}", .0.message)]
    Session(#[from] Refusal),
    /// The work of two dependencies of a todo conflicts.
    #[error("the work of its dependency {dependency} conflicts with the rest in {files}: {why}")]
    Conflict { dependency: String, files: String, why: Unresolved },
    #[error("{count} branches have names that begin with {branch}")]
    TooManyBranches { count: usize, branch: String },
}

/// Why a conflict stays unresolved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unresolved {
    #[error("there is no agent type `{0}`")]
    UnknownAgent(String),
    #[error("could not start an agent to resolve it: {0}")]
    NotStarted(InputRejection),
    /// The agent ended without success.
    #[error("the agent did not resolve it: {0}")]
    AgentFailed(String),
    #[error("the resolving agent made no commit")]
    NoCommit,
    #[error("the agent left conflict markers in {}", .0.join(", "))]
    MarkersLeft(Vec<String>),
    #[error("the agent's resolution does not pass the check: {0}")]
    CheckFailed(String),
    /// The todo's check may not run.
    #[error(transparent)]
    Check(#[from] WorkerError),
    #[error(transparent)]
    Merge(Box<MergeError>),
}

impl Hinted for MergeError {
    fn hint(&self) -> Option<String> {
        match self {
            MergeError::TooManyBranches { .. } => Some("remove those that are not needed".into()),
            MergeError::Session(refusal) => refusal.hint.clone(),
            MergeError::Conflict { why, .. } => why.hint(),
            MergeError::Git(_) | MergeError::Store(_) | MergeError::Rejected(_) | MergeError::Home(_) => None,
        }
    }
}

impl Hinted for Unresolved {
    fn hint(&self) -> Option<String> {
        match self {
            Unresolved::Check(error) => error.hint(),
            Unresolved::Merge(error) => error.hint(),
            Unresolved::UnknownAgent(_)
            | Unresolved::NotStarted(_)
            | Unresolved::AgentFailed(_)
            | Unresolved::NoCommit
            | Unresolved::MarkersLeft(_)
            | Unresolved::CheckFailed(_) => None,
        }
    }
}

impl From<MergeError> for Unresolved {
    fn from(error: MergeError) -> Unresolved {
        Unresolved::Merge(Box::new(error))
    }
}
