//! The session's services for merging.

use std::path::Path;

use git::{Commit, MergeConflict};
use protocol::TodoId;
use runtime::InputRejection;
use tools::BoxFuture;

use super::error::Unresolved;
use crate::worker::WorkerError;

/// The session's services for merging.
pub(super) trait MergeSession: Send + Sync {
    /// Lets an agent resolve a conflict, once. Returns the commit that it made on top of `start`.
    fn resolve<'a>(
        &'a self,
        conflict: &'a MergeConflict,
        start: &'a Commit,
    ) -> BoxFuture<'a, Result<Commit, Unresolved>>;

    /// The title of a todo.
    fn title(&self, todo: &TodoId) -> String;

    /// Whether a todo's merge has a check, which may run.
    fn has_check<'a>(&'a self, todo: &'a TodoId) -> BoxFuture<'a, Result<bool, WorkerError>>;

    /// Runs the check of a todo's merge in a folder; the error says why it fails.
    fn check<'a>(&'a self, todo: &'a TodoId, folder: &'a Path) -> BoxFuture<'a, Result<(), WorkerError>>;

    /// Records durably that a todo's work is merged.
    fn record_merged<'a>(&'a self, todo: &'a TodoId, commit: &'a Commit) -> BoxFuture<'a, Result<(), InputRejection>>;
}

/// The todo whose work conflicts.
pub(super) fn conflict_todo(conflict: &MergeConflict) -> TodoId {
    TodoId(conflict.part.name.clone())
}
