//! Finds dependency cycles of todos.

use std::collections::{BTreeMap, BTreeSet};

use protocol::TodoId;
use rusqlite::Connection;

use super::rows::dependencies;

/// A cycle that can be reached from one of these todos.
pub(super) fn from<'a>(
    conn: &Connection,
    mut todos: impl Iterator<Item = &'a TodoId>,
) -> rusqlite::Result<Option<Vec<TodoId>>> {
    let deps = dependencies(conn)?;
    let mut clear = BTreeSet::new();
    Ok(todos.find_map(|todo| search(&deps, todo, &mut clear)))
}

/// Searches depth-first from one todo. Todos in `clear` lead into no cycle.
fn search<'a>(
    deps: &'a BTreeMap<TodoId, Vec<TodoId>>,
    from: &'a TodoId,
    clear: &mut BTreeSet<&'a TodoId>,
) -> Option<Vec<TodoId>> {
    let above = |todo: &TodoId| deps.get(todo).map(Vec::as_slice).unwrap_or_default().iter();
    let mut path = vec![(from, above(from))];
    let mut on_path = BTreeSet::from([from]);
    while let Some((todo, rest)) = path.last_mut() {
        match rest.next() {
            Some(next) if on_path.contains(next) => {
                let cycle = path.iter().map(|(todo, _)| *todo).skip_while(|todo| *todo != next);
                return Some(cycle.cloned().collect());
            }
            Some(next) if clear.contains(next) => {}
            Some(next) => {
                on_path.insert(next);
                path.push((next, above(next)));
            }
            None => {
                on_path.remove(*todo);
                clear.insert(*todo);
                path.pop();
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[(&str, &str)], from: &str) -> Option<String> {
        let mut deps: BTreeMap<TodoId, Vec<TodoId>> = BTreeMap::new();
        for (todo, above) in edges {
            deps.entry(TodoId::from(*todo)).or_default().push(TodoId::from(*above));
        }
        let from = TodoId::from(from);
        search(&deps, &from, &mut BTreeSet::new()).map(|path| protocol::format_cycle(&path))
    }

    #[test]
    fn a_circle_is_found_with_its_members_and_no_others() {
        assert_eq!(found(&[("b", "a"), ("c", "b"), ("c", "a")], "c"), None);
        assert_eq!(found(&[("a", "a")], "a").unwrap(), "a → a");
        let lead = [("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("a", "z")];
        assert_eq!(found(&lead, "x").unwrap(), "a → b → c → a");
        assert_eq!(found(&lead, "z"), None);
    }

    #[test]
    fn ten_thousand_todos_in_a_row_and_a_ladder_of_them_take_no_time_and_no_stack() {
        let name = |n: usize| format!("t{n:05}");
        let names: Vec<String> = (0..10_000).map(name).collect();
        let row: Vec<(&str, &str)> = names.windows(2).map(|pair| (&*pair[0], &*pair[1])).collect();
        // Each of a ladder's steps can be reached by twice as many ways as the one before.
        let ladder: Vec<(&str, &str)> =
            names.windows(3).flat_map(|three| [(&*three[0], &*three[1]), (&*three[0], &*three[2])]).collect();
        assert_eq!(found(&row, "t00000"), None);
        assert_eq!(found(&ladder, "t00000"), None);
    }
}
