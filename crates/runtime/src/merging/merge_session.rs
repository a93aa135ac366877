//! What merging asks of the session.

use std::path::Path;

use git::{Commit, MergeConflict};
use protocol::TodoId;
use tools::BoxFuture;

/// What merging asks of the session.
pub(super) trait MergeSession: Send + Sync {
    /// Lets an agent resolve a conflict, once; gives the commit that it made on top of `begun`, or says in words why there
    /// is none.
    fn resolve<'a>(&'a self, conflict: &'a MergeConflict, begun: &'a Commit) -> BoxFuture<'a, Result<Commit, String>>;

    /// What a todo is called.
    fn title(&self, todo: &TodoId) -> String;

    /// Whether a check looks at a todo's merge; says in words why it may not.
    fn has_check<'a>(&'a self, todo: &'a TodoId) -> BoxFuture<'a, Result<bool, String>>;

    /// Runs the check of a todo's merge in a folder; gives what is wrong, in words, if anything is.
    fn check<'a>(&'a self, todo: &'a TodoId, folder: &'a Path) -> BoxFuture<'a, Result<(), String>>;

    /// Says durably that a todo's work is merged.
    fn record_merged<'a>(&'a self, todo: &'a TodoId, commit: &'a Commit) -> BoxFuture<'a, Result<(), String>>;
}

/// The todo that a part of a merge is.
pub(super) fn conflict_todo(conflict: &MergeConflict) -> TodoId {
    TodoId(conflict.part.name.clone())
}
