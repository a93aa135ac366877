//! Edits of todos through the API or this process.

use protocol::TodoId;
use protocol::api::TodoEdit;
use store::TodoError;

use super::TodoSyncError;
use crate::Session;
use crate::session_context::SessionContext;
use crate::supervisor::InputRejection;

/// Why todos were not edited.
#[derive(Debug, thiserror::Error)]
pub enum TodoEditError {
    /// The edit is invalid, or failed.
    #[error(transparent)]
    Todo(#[from] TodoError),
    /// They were edited, but the session rejected the change.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

impl From<TodoSyncError> for TodoEditError {
    fn from(error: TodoSyncError) -> TodoEditError {
        match error {
            TodoSyncError::Store(error) => TodoEditError::Todo(error.into()),
            TodoSyncError::Rejected(rejected) => TodoEditError::Rejected(rejected),
        }
    }
}

impl SessionContext {
    /// Edits todos for the user and reports the changes to the kernel.
    pub(crate) async fn edit_todos(&self, edits: Vec<TodoEdit>) -> Result<Vec<TodoId>, TodoEditError> {
        let (home, session, todos) = (self.facts.home.clone(), self.facts.session, self.todo_sync.clone());
        let edit = move || store::edit_own_todos(&home, session, &edits, |changes| todos.vouch(changes));
        let ids = tokio::task::spawn_blocking(edit).await.map_err(|_stopped| InputRejection::SessionEnded)??;
        self.todo_sync.sync().await?;
        Ok(ids)
    }
}

impl Session {
    /// Edits todos for the user, all or none; returns the ids in the order of the edits.
    pub async fn edit_todos(&self, edits: Vec<TodoEdit>) -> Result<Vec<TodoId>, TodoEditError> {
        self.context().edit_todos(edits).await
    }
}
