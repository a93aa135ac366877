//! The order of the graph: what others depend on comes first, then what was written first.

use std::collections::{BTreeMap, BTreeSet};

use kernel::TodoGraph;
use protocol::TodoId;

/// Where each todo stands in the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MergeOrder {
    positions: BTreeMap<TodoId, GraphPosition>,
}

/// Where a todo stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GraphPosition {
    depth: usize,
    written: u64,
    depends_on: BTreeSet<TodoId>,
}

impl MergeOrder {
    pub(super) fn from_graph(graph: &TodoGraph) -> MergeOrder {
        MergeOrder::from_todos(graph.nodes().map(|(id, node)| (id.clone(), node.order, node.depends_on.clone())))
    }

    fn from_todos(todos: impl Iterator<Item = (TodoId, u64, BTreeSet<TodoId>)>) -> MergeOrder {
        let places = todos.map(|(id, written, above)| (id, GraphPosition { depth: 0, written, depends_on: above }));
        let mut order = MergeOrder { positions: places.collect() };
        order.assign_depths();
        order
    }

    /// Gives each todo a depth that is greater than that of everything above it. One that depends on itself has none.
    fn assign_depths(&mut self) {
        let mut below: BTreeMap<&TodoId, Vec<&TodoId>> = BTreeMap::new();
        let mut waits: BTreeMap<&TodoId, usize> = BTreeMap::new();
        for (id, place) in &self.positions {
            let above = place.depends_on.iter().filter(|above| self.positions.contains_key(*above));
            waits.insert(id, above.map(|above| below.entry(above).or_default().push(id)).count());
        }
        let mut depths: BTreeMap<TodoId, usize> = BTreeMap::new();
        let mut layer: Vec<&TodoId> = waits.iter().filter(|(_, waits)| **waits == 0).map(|(id, _)| *id).collect();
        let mut depth = 0;
        while !layer.is_empty() {
            let mut next = Vec::new();
            for id in layer {
                depths.insert(id.clone(), depth);
                for lower in below.get(id).into_iter().flatten().copied() {
                    if let Some(waits) = waits.get_mut(lower) {
                        *waits -= 1;
                        next.extend((*waits == 0).then_some(lower));
                    }
                }
            }
            (layer, depth) = (next, depth + 1);
        }
        for (id, place) in &mut self.positions {
            place.depth = depths.get(id).copied().unwrap_or(usize::MAX);
        }
    }

    /// The todos in the order of the graph.
    pub(super) fn sort(&self, todos: &mut [TodoId]) {
        todos.sort_by_key(|id| {
            let place = self.positions.get(id);
            (place.map(|place| (place.depth, place.written)), id.clone())
        });
    }

    /// Everything that a todo depends on, be it through others.
    pub(super) fn all_dependencies(&self, todo: &TodoId) -> BTreeSet<TodoId> {
        let mut found = BTreeSet::new();
        let mut next = vec![todo];
        while let Some(id) = next.pop() {
            for above in self.positions.get(id).into_iter().flat_map(|place| &place.depends_on) {
                if found.insert(above.clone()) {
                    next.push(above);
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
        let ids = |above: &[&str]| above.iter().map(|id| TodoId::from(*id)).collect();
        MergeOrder::from_todos((0..).zip(todos).map(|(written, (id, above))| (TodoId::from(*id), written, ids(above))))
    }

    fn sorted(order: &MergeOrder) -> Vec<String> {
        let mut todos: Vec<TodoId> = order.positions.keys().cloned().collect();
        order.sort(&mut todos);
        todos.into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn what_others_depend_on_comes_first_then_what_was_written_first() {
        let order = order(&[("z", &[]), ("last", &["b", "z"]), ("b", &["a"]), ("a", &[]), ("c", &["z", "gone"])]);
        assert_eq!(sorted(&order), ["z", "a", "b", "c", "last"]);
        assert_eq!(order.all_dependencies(&"last".into()), ["a", "b", "z"].map(TodoId::from).into());
        assert_eq!(order.all_dependencies(&"nobody".into()), BTreeSet::new());
    }

    #[test]
    fn a_long_chain_and_a_circle_have_an_order_too() {
        let names: Vec<String> = (0..10_000).map(|n| format!("t{n:05}")).collect();
        let above = |n: usize| if n == 0 { BTreeSet::new() } else { BTreeSet::from([TodoId(names[n - 1].clone())]) };
        let chain =
            MergeOrder::from_todos((0..names.len()).rev().map(|n| (TodoId(names[n].clone()), n as u64, above(n))));
        assert_eq!(sorted(&chain), names);
        assert_eq!(chain.all_dependencies(&TodoId(names[9_999].clone())).len(), 9_999);
        assert_eq!(sorted(&order(&[("a", &["b"]), ("b", &["a"]), ("c", &[])])), ["c", "a", "b"]);
    }

    proptest! {
        #[test]
        fn nothing_comes_before_what_it_depends_on(edges in prop::collection::vec((0..30_usize, 0..30_usize), 0..80)) {
            let name = |n: usize| TodoId(format!("t{n}"));
            let above = |n| edges.iter().filter(|(a, b)| n == *a.max(b) && a != b).map(|(a, b)| name(*a.min(b))).collect();
            let order = MergeOrder::from_todos((0..30).map(|n| (name(n), (n * 7 % 30) as u64, above(n))));
            let sorted = sorted(&order);
            for (place, id) in sorted.iter().enumerate() {
                for above in order.all_dependencies(&TodoId(id.clone())) {
                    prop_assert!(sorted.iter().position(|known| *known == above.0) < Some(place));
                }
            }
        }
    }
}
