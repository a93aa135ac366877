//! The shared lists of items: a session's own, a project's, a team's.

use host::Home;
use protocol::SessionId;
use store::{ItemList, StoreError};

/// The list of a session.
pub fn of_session(home: &Home, id: SessionId) -> Result<ItemList, StoreError> {
    ItemList::of_session(home, id)
}

/// The list of a project.
pub fn of_project(home: &Home, project_root: &str) -> Result<ItemList, StoreError> {
    ItemList::of_project(home, project_root)
}

/// The list of a team.
pub fn of_team(home: &Home, name: &str) -> Result<ItemList, StoreError> {
    ItemList::of_team(home, name)
}
