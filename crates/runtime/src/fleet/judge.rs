//! Whether a plan can be worked by.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use protocol::{FleetTerms, TaskId, Todo, TodoId, TodoStatus};

use super::{FleetError, worker};
use crate::agent::Desk;
use crate::compact::one_line;
use crate::expects;

/// Most bytes of a title, and of an id in words.
const TITLE: usize = 1_000;
const ID: usize = 200;

/// What is wrong with the todos that are still to be done, in words for whoever wrote them.
pub(super) async fn problems(desk: &Arc<Desk>, root: TaskId, terms: &FleetTerms, todos: &[Todo]) -> Vec<String> {
    let mut problems = Vec::new();
    let known: BTreeSet<&TodoId> = todos.iter().map(|todo| &todo.id).collect();
    // A command is judged once, however many todos have it.
    let mut judged: BTreeMap<&str, Result<(), String>> = BTreeMap::new();
    for todo in todos.iter().filter(|todo| todo.status == TodoStatus::Pending) {
        let mut found = of_one(desk, terms, todo);
        found.extend(
            todo.depends_on
                .iter()
                .find(|above| !known.contains(above))
                .map(|above| format!("it depends on `{}`, and there is no such todo", one_line(&above.0, ID))),
        );
        if let Some(check) = todo.check.as_deref() {
            if !judged.contains_key(check) {
                judged.insert(check, worker::permitted(desk, root, check).await);
            }
            found.extend(judged.get(check).and_then(|verdict| verdict.clone().err()));
        }
        problems.extend(found.into_iter().map(|words| format!("{}: {words}", one_line(&todo.id.0, ID))));
    }
    problems
}

fn of_one(desk: &Desk, terms: &FleetTerms, todo: &Todo) -> Vec<String> {
    let mut found = Vec::new();
    if todo.id.0.trim().is_empty() || todo.id.0.len() > ID {
        found.push(format!("its id must have 1 to {ID} bytes"));
    }
    if todo.title.trim().is_empty() || todo.title.len() > TITLE {
        found.push(format!("its title must have 1 to {TITLE} bytes; the rest belongs into the description"));
    }
    match worker::agent(desk, terms, todo) {
        Ok(agent) => {
            found.extend(crate::definition::of(agent).err());
            found.extend(desk.model_for(agent, todo.model.as_deref()).err().map(|error| error.to_string()));
        }
        Err(words) => found.push(words),
    }
    found.extend(expects::patterns(&todo.files).err());
    found.extend(worker::expected(todo).err());
    found
}

/// Refuses a plan that somebody brings, if it cannot be worked by.
pub(crate) async fn check(
    desk: &Arc<Desk>,
    root: TaskId,
    terms: &FleetTerms,
    todos: &[Todo],
) -> Result<(), FleetError> {
    let mut problems = problems(desk, root, terms, todos).await;
    // Whoever wrote the file need not be who works by it.
    if let (Some(check), Some(_file)) = (&terms.check, &terms.plan) {
        problems.extend(worker::permitted(desk, root, check).await.err().map(|words| format!("the fleet: {words}")));
    }
    let mut ids = BTreeSet::new();
    let twice = todos.iter().filter(|todo| !ids.insert(&todo.id));
    problems.extend(twice.map(|todo| format!("{}: two todos have this id", one_line(&todo.id.0, ID))));
    if problems.is_empty() { Ok(()) } else { Err(FleetError::Plan(problems)) }
}
