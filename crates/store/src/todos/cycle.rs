//! Finds dependency cycles of todos.

use std::collections::{BTreeMap, BTreeSet};

use protocol::TodoId;
use rusqlite::Connection;

use super::rows::dependencies;

/// A cycle that can be reached from one of these todos.
pub(super) fn find_cycle<'a>(
    conn: &Connection,
    mut todos: impl Iterator<Item = &'a TodoId>,
) -> rusqlite::Result<Option<Vec<TodoId>>> {
    let deps = dependencies(conn)?;
    let mut without_cycle = BTreeSet::new();
    Ok(todos.find_map(|todo| find_cycle_from(&deps, todo, &mut without_cycle)))
}

/// Searches depth-first from one todo. Todos in `without_cycle` lead into no cycle.
fn find_cycle_from<'a>(
    deps: &'a BTreeMap<TodoId, Vec<TodoId>>,
    from: &'a TodoId,
    without_cycle: &mut BTreeSet<&'a TodoId>,
) -> Option<Vec<TodoId>> {
    let dependencies_of = |todo: &TodoId| deps.get(todo).map(Vec::as_slice).unwrap_or_default().iter();
    let mut path = vec![(from, dependencies_of(from))];
    let mut on_path = BTreeSet::from([from]);
    while let Some((todo, unvisited)) = path.last_mut() {
        match unvisited.next() {
            Some(next) if on_path.contains(next) => {
                let cycle = path.iter().map(|(todo, _)| *todo).skip_while(|todo| *todo != next);
                return Some(cycle.cloned().collect());
            }
            Some(next) if without_cycle.contains(next) => {}
            Some(next) => {
                on_path.insert(next);
                path.push((next, dependencies_of(next)));
            }
            None => {
                on_path.remove(*todo);
                without_cycle.insert(*todo);
                path.pop();
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle_text(edges: &[(&str, &str)], from: &str) -> Option<String> {
        let mut deps: BTreeMap<TodoId, Vec<TodoId>> = BTreeMap::new();
        for (todo, dependency) in edges {
            deps.entry(TodoId::from(*todo)).or_default().push(TodoId::from(*dependency));
        }
        let from = TodoId::from(from);
        find_cycle_from(&deps, &from, &mut BTreeSet::new()).map(|path| protocol::format_cycle(&path))
    }

    #[test]
    fn only_the_members_of_a_cycle_are_returned() {
        assert_eq!(cycle_text(&[("b", "a"), ("c", "b"), ("c", "a")], "c"), None);
        assert_eq!(cycle_text(&[("a", "a")], "a").unwrap(), "a → a");
        let lead = [("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("a", "z")];
        assert_eq!(cycle_text(&lead, "x").unwrap(), "a → b → c → a");
        assert_eq!(cycle_text(&lead, "z"), None);
    }

    #[test]
    fn long_chains_and_ladders_are_searched_in_linear_time_and_without_recursion() {
        let name = |n: usize| format!("t{n:05}");
        let names: Vec<String> = (0..10_000).map(name).collect();
        let row: Vec<(&str, &str)> = names.windows(2).map(|pair| (&*pair[0], &*pair[1])).collect();
        // Each step of a ladder can be reached in many more ways than the one before.
        let ladder: Vec<(&str, &str)> =
            names.windows(3).flat_map(|three| [(&*three[0], &*three[1]), (&*three[0], &*three[2])]).collect();
        assert_eq!(cycle_text(&row, "t00000"), None);
        assert_eq!(cycle_text(&ladder, "t00000"), None);
    }
}
