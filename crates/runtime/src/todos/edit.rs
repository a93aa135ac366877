//! Edits that the API and this process's own edges make.

use protocol::TodoId;
use protocol::api::TodoEdit;
use store::TodoError;

use super::TodoSyncError;
use crate::Session;
use crate::agent::SessionContext;
use crate::supervisor::InputRejection;

/// Why todos were not edited.
#[derive(Debug, thiserror::Error)]
pub enum TodoEditError {
    /// They must not be edited like this, or cannot be.
    #[error(transparent)]
    Todo(#[from] TodoError),
    /// They are edited, and the session does not take note of it.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

impl From<TodoSyncError> for TodoEditError {
    fn from(untaken: TodoSyncError) -> TodoEditError {
        match untaken {
            TodoSyncError::Store(error) => TodoEditError::Todo(error.into()),
            TodoSyncError::Rejected(rejected) => TodoEditError::Rejected(rejected),
        }
    }
}

impl SessionContext {
    /// Edits the todos for a person; the kernel knows of it then.
    pub(crate) async fn edit_todos(&self, edits: Vec<TodoEdit>) -> Result<Vec<TodoId>, TodoEditError> {
        let (home, session, todos) = (self.settings.home.clone(), self.session, self.todos.clone());
        let edit = move || store::edit_own_todos(&home, session, &edits, |noted| todos.vouch(noted));
        let ids = tokio::task::spawn_blocking(edit).await.map_err(|_stopped| InputRejection::SessionEnded)??;
        self.todos.sync().await?;
        Ok(ids)
    }
}

impl Session {
    /// Edits the todos for a person, all of it or nothing; gives the ids in the order of the edits.
    pub async fn edit_todos(&self, edits: Vec<TodoEdit>) -> Result<Vec<TodoId>, TodoEditError> {
        self.context().edit_todos(edits).await
    }
}
