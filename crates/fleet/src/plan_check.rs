//! Checks whether a fleet can use a plan.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Expectations, FleetConfig, Hinted as _, Todo, TodoId, TodoStatus};

use runtime::{FleetError, FleetSession, check_usable, one_line};

use crate::worker;

/// Maximum bytes of a todo's title.
const MAX_TITLE_BYTES: usize = 1_000;

/// Maximum bytes of a todo's id.
const MAX_ID_BYTES: usize = 200;

/// The problems of the pending todos, described for their author.
pub(crate) async fn problems(session: &FleetSession, config: &FleetConfig, todos: &[Todo]) -> Vec<String> {
    let mut problems = Vec::new();
    let known: BTreeSet<&TodoId> = todos.iter().map(|todo| &todo.id).collect();
    // A command is judged once, however many todos have it.
    let mut judged: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for todo in todos.iter().filter(|todo| todo.status == TodoStatus::Pending) {
        let mut found = todo_problems(session, config, todo);
        found.extend(todo.depends_on.iter().find(|dependency| !known.contains(dependency)).map(|dependency| {
            format!("it depends on `{}`, which does not exist", one_line(&dependency.0, MAX_ID_BYTES))
        }));
        if let Some(check) = todo.check.as_deref() {
            if !judged.contains_key(check) {
                let refused = worker::check_permitted(session, check).await.err();
                judged.insert(check, refused.map(|error| error.in_one_line()));
            }
            found.extend(judged.get(check).cloned().flatten());
        }
        problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", one_line(&todo.id.0, MAX_ID_BYTES))));
    }
    problems
}

fn todo_problems(session: &FleetSession, config: &FleetConfig, todo: &Todo) -> Vec<String> {
    let mut found = Vec::new();
    if todo.id.0.trim().is_empty() || todo.id.0.len() > MAX_ID_BYTES {
        found.push(format!("its id must have 1 to {MAX_ID_BYTES} bytes"));
    }
    if todo.title.trim().is_empty() || todo.title.len() > MAX_TITLE_BYTES {
        found.push(format!("its title must have 1 to {MAX_TITLE_BYTES} bytes; move the rest to the description"));
    }
    match worker::worker_agent(session, config, todo) {
        Ok(agent) => found.extend(session.agent_problems(agent, todo.model.as_deref())),
        Err(error) => found.push(error.in_one_line()),
    }
    let files = Expectations { files: todo.files.clone(), ..Expectations::default() };
    found.extend(check_usable(&files).err().map(|error| error.in_one_line()));
    found.extend(worker::worker_expectations(todo).err().map(|error| error.in_one_line()));
    found
}

/// Refuses a plan from the user or a client, if the fleet cannot use it.
pub(crate) async fn check_plan(session: &FleetSession, config: &FleetConfig, todos: &[Todo]) -> Result<(), FleetError> {
    let mut problems = problems(session, config, todos).await;
    // The author of the file need not be the user who runs it.
    if let (Some(check), Some(_file)) = (&config.check, &config.plan) {
        let refused = worker::check_permitted(session, check).await.err();
        problems.extend(refused.map(|error| format!("the fleet: {}", error.in_one_line())));
    }
    let mut ids = BTreeSet::new();
    let duplicates = todos.iter().filter(|todo| !ids.insert(&todo.id));
    problems.extend(duplicates.map(|todo| format!("{}: two todos have this id", one_line(&todo.id.0, MAX_ID_BYTES))));
    if problems.is_empty() { Ok(()) } else { Err(FleetError::Plan(problems)) }
}
