//! Todos as clients see them.

use protocol::api::TodoView;
use protocol::{TodoId, TodoStatus};

/// A pending todo that was never worked on.
pub fn todo_view(id: &str, title: &str, depends_on: &[&str]) -> TodoView {
    TodoView {
        id: id.into(),
        title: title.into(),
        description: None,
        status: TodoStatus::Pending,
        ready: depends_on.is_empty(),
        interrupted: false,
        depends_on: depends_on.iter().map(|id| TodoId::from(*id)).collect(),
        reason: None,
        agent_type: None,
        model: None,
        files: Vec::new(),
        check: None,
        expects: None,
        task: None,
        attempts: 0,
    }
}
