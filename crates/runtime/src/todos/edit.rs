//! Edits that the API and this process's own edges make.

use protocol::TodoId;
use protocol::api::TodoEdit;
use store::TodoError;

use super::Untaken;
use crate::Session;
use crate::agent::Desk;
use crate::supervisor::Rejected;

/// Why todos were not edited.
#[derive(Debug, thiserror::Error)]
pub enum Unedited {
    /// They must not be edited like this, or cannot be.
    #[error(transparent)]
    Todo(#[from] TodoError),
    /// They are edited, and the session does not take note of it.
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

impl From<Untaken> for Unedited {
    fn from(untaken: Untaken) -> Unedited {
        match untaken {
            Untaken::Store(error) => Unedited::Todo(error.into()),
            Untaken::Rejected(rejected) => Unedited::Rejected(rejected),
        }
    }
}

impl Desk {
    /// Edits the todos for a person; the kernel knows of it then.
    pub(crate) async fn edit_todos(&self, edits: Vec<TodoEdit>) -> Result<Vec<TodoId>, Unedited> {
        let (home, session, todos) = (self.settings.home.clone(), self.session, self.todos.clone());
        let edit = move || store::edit_own_todos(&home, session, &edits, |noted| todos.vouch(noted));
        let ids = tokio::task::spawn_blocking(edit).await.map_err(|_stopped| Rejected::Gone)??;
        self.todos.take().await?;
        Ok(ids)
    }
}

impl Session {
    /// Edits the todos for a person, all of it or nothing; gives the ids in the order of the edits.
    pub async fn edit_todos(&self, edits: Vec<TodoEdit>) -> Result<Vec<TodoId>, Unedited> {
        self.desk().edit_todos(edits).await
    }
}
