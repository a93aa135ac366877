//! The merge order of todos: by dependency, then by the time they were added.

use std::collections::{BTreeMap, BTreeSet};

use kernel::TodoGraph;
use protocol::TodoId;

/// The position of every todo in the merge order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MergeOrder {
    positions: BTreeMap<TodoId, MergePosition>,
}

/// The position of a todo: todos with a smaller depth come first, then those that were added earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MergePosition {
    depth: usize,
    /// When the todo was added, relative to the others.
    added: u64,
    depends_on: BTreeSet<TodoId>,
}

impl MergeOrder {
    pub(super) fn from_graph(graph: &TodoGraph) -> MergeOrder {
        MergeOrder::from_todos(graph.nodes().map(|(id, node)| (id.clone(), node.order, node.depends_on.clone())))
    }

    fn from_todos(todos: impl Iterator<Item = (TodoId, u64, BTreeSet<TodoId>)>) -> MergeOrder {
        let positions = todos.map(|(id, added, depends_on)| (id, MergePosition { depth: 0, added, depends_on }));
        let mut order = MergeOrder { positions: positions.collect() };
        order.assign_depths();
        order
    }

    /// Gives each todo a depth greater than that of its dependencies. Todos in a cycle, or that depend on one, get the
    /// maximum.
    fn assign_depths(&mut self) {
        let mut dependents: BTreeMap<&TodoId, Vec<&TodoId>> = BTreeMap::new();
        // How many dependencies of each todo have no depth yet.
        let mut unmet: BTreeMap<&TodoId, usize> = BTreeMap::new();
        for (id, position) in &self.positions {
            let known = position.depends_on.iter().filter(|dependency| self.positions.contains_key(*dependency));
            unmet.insert(id, known.map(|dependency| dependents.entry(dependency).or_default().push(id)).count());
        }
        let mut depths: BTreeMap<TodoId, usize> = BTreeMap::new();
        let mut layer: Vec<&TodoId> = unmet.iter().filter(|(_, unmet)| **unmet == 0).map(|(id, _)| *id).collect();
        let mut depth = 0;
        while !layer.is_empty() {
            let mut next = Vec::new();
            for id in layer {
                depths.insert(id.clone(), depth);
                for dependent in dependents.get(id).into_iter().flatten().copied() {
                    if let Some(unmet) = unmet.get_mut(dependent) {
                        *unmet -= 1;
                        next.extend((*unmet == 0).then_some(dependent));
                    }
                }
            }
            (layer, depth) = (next, depth + 1);
        }
        for (id, position) in &mut self.positions {
            position.depth = depths.get(id).copied().unwrap_or(usize::MAX);
        }
    }

    /// Sorts todos in merge order.
    pub(super) fn sort(&self, todos: &mut [TodoId]) {
        todos.sort_by_key(|id| {
            let position = self.positions.get(id);
            (position.map(|position| (position.depth, position.added)), id.clone())
        });
    }

    /// All direct and indirect dependencies of a todo.
    pub(super) fn all_dependencies(&self, todo: &TodoId) -> BTreeSet<TodoId> {
        let mut found = BTreeSet::new();
        let mut next = vec![todo];
        while let Some(id) = next.pop() {
            for dependency in self.positions.get(id).into_iter().flat_map(|position| &position.depends_on) {
                if found.insert(dependency.clone()) {
                    next.push(dependency);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(todos: &[(&str, &[&str])]) -> MergeOrder {
        let ids = |needs: &[&str]| needs.iter().map(|id| TodoId::from(*id)).collect();
        MergeOrder::from_todos((0..).zip(todos).map(|(added, (id, needs))| (TodoId::from(*id), added, ids(needs))))
    }

    fn sorted(order: &MergeOrder) -> Vec<String> {
        let mut todos: Vec<TodoId> = order.positions.keys().cloned().collect();
        order.sort(&mut todos);
        todos.into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn dependencies_come_first_then_older_todos() {
        let order = order(&[("z", &[]), ("last", &["b", "z"]), ("b", &["a"]), ("a", &[]), ("c", &["z", "gone"])]);
        assert_eq!(sorted(&order), ["z", "a", "b", "c", "last"]);
        assert_eq!(order.all_dependencies(&"last".into()), ["a", "b", "z"].map(TodoId::from).into());
        assert_eq!(order.all_dependencies(&"nobody".into()), BTreeSet::new());
    }

    #[test]
    fn long_chains_and_cycles_are_ordered() {
        let names: Vec<String> = (0..10_000).map(|n| format!("t{n:05}")).collect();
        let needs = |n: usize| if n == 0 { BTreeSet::new() } else { BTreeSet::from([TodoId(names[n - 1].clone())]) };
        let chain =
            MergeOrder::from_todos((0..names.len()).rev().map(|n| (TodoId(names[n].clone()), n as u64, needs(n))));
        assert_eq!(sorted(&chain), names);
        assert_eq!(chain.all_dependencies(&TodoId(names[9_999].clone())).len(), 9_999);
        assert_eq!(sorted(&order(&[("a", &["b"]), ("b", &["a"]), ("c", &[])])), ["c", "a", "b"]);
    }

    proptest! {
        #[test]
        fn nothing_comes_before_what_it_depends_on(edges in prop::collection::vec((0..30_usize, 0..30_usize), 0..80)) {
            let name = |n: usize| TodoId(format!("t{n}"));
            let needs = |n| {
                let edges = edges.iter().filter(|(a, b)| n == *a.max(b) && a != b);
                edges.map(|(a, b)| name(*a.min(b))).collect()
            };
            let order = MergeOrder::from_todos((0..30).map(|n| (name(n), (n * 7 % 30) as u64, needs(n))));
            let sorted = sorted(&order);
            for (position, id) in sorted.iter().enumerate() {
                for dependency in order.all_dependencies(&TodoId(id.clone())) {
                    prop_assert!(sorted.iter().position(|known| *known == dependency.0) < Some(position));
                }
            }
        }
    }
}
