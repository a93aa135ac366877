//! Checks ids and dependencies: ids are unique, dependencies exist, and there are no cycles.

use std::collections::BTreeMap;

use protocol::{Todo, TodoId, format_cycle};

use super::keys::PlanProblems;
use super::shape::PlanGraph;
use super::todo::TodoPositions;
use crate::catalog::{FilePosition, nearest};

/// Maximum number of unknown dependencies for which the nearest id is suggested.
const MAX_SUGGESTIONS: usize = 20;

/// Reports problems with the ids and dependencies of a plan.
pub(super) fn check(todos: &[Todo], places: &[TodoPositions], report: &mut PlanProblems) {
    let first = check_unique_ids(todos, places, report);
    check_dependencies(todos, places, &first, report);
    for path in PlanGraph::new(todos).cycles() {
        let at = path.first().and_then(|n| places[*n].depends_on.first().copied().flatten().or(places[*n].id));
        let path: Vec<TodoId> = path.iter().map(|n| todos[*n].id.clone()).collect();
        report.error(
            at,
            format!("todos wait for each other: {}", format_cycle(&path)),
            "remove one of these dependencies",
        );
    }
}

fn check_unique_ids<'a>(
    todos: &'a [Todo],
    places: &[TodoPositions],
    report: &mut PlanProblems,
) -> BTreeMap<&'a TodoId, Option<FilePosition>> {
    let mut first: BTreeMap<&TodoId, Option<FilePosition>> = BTreeMap::new();
    for (todo, places) in todos.iter().zip(places) {
        match first.get(&todo.id) {
            None => drop(first.insert(&todo.id, places.id)),
            Some(at) => {
                let line = at.map_or_else(String::new, |at| format!(", first in line {}", at.line));
                report.error(places.id, format!("duplicate id `{}`{line}", todo.id), "give one another id");
            }
        }
    }
    first
}

fn check_dependencies(
    todos: &[Todo],
    places: &[TodoPositions],
    first: &BTreeMap<&TodoId, Option<FilePosition>>,
    report: &mut PlanProblems,
) {
    let names: Vec<&str> = first.keys().map(|id| id.0.as_str()).collect();
    let mut suggested = 0;
    for (todo, places) in todos.iter().zip(places) {
        for (dependency, at) in todo.depends_on.iter().zip(&places.depends_on) {
            if first.contains_key(dependency) {
                continue;
            }
            // Searching all ids for each of thousands of errors would take minutes.
            let near = (suggested < MAX_SUGGESTIONS).then(|| nearest(&dependency.0, &names)).flatten();
            suggested += 1;
            let remedy = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name a todo of this plan, or add it".to_owned(),
            };
            report.error(*at, format!("todo `{}`: it depends on `{dependency}`, which is missing", todo.id), remedy);
        }
    }
}
