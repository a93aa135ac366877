//! The dependency graph of todos: its layers, its longest path, and its cycles.

use std::collections::BTreeMap;

use protocol::{Todo, TodoId};
use serde::Serialize;

/// The dependency structure of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanShape {
    /// The todos by layer: each depends on one in the layer before, and on none in the same or a later layer.
    pub layers: Vec<Vec<TodoId>>,
    /// The longest chain of dependent todos, in order.
    pub longest: Vec<TodoId>,
}

impl PlanShape {
    /// The size of the largest layer: how many todos can be worked on at once.
    pub fn widest(&self) -> usize {
        self.layers.iter().map(Vec::len).max().unwrap_or_default()
    }
}

/// The todos by index, with their dependencies and dependents.
pub(super) struct PlanGraph {
    dependencies: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
}

impl PlanGraph {
    /// Dependencies on unknown todos are left out.
    pub(super) fn new(todos: &[Todo]) -> PlanGraph {
        let numbers: BTreeMap<&TodoId, usize> = todos.iter().zip(0..).map(|(todo, n)| (&todo.id, n)).collect();
        let mut graph = PlanGraph { dependencies: Vec::new(), dependents: vec![Vec::new(); todos.len()] };
        for (n, todo) in todos.iter().enumerate() {
            let mut dependencies: Vec<usize> =
                todo.depends_on.iter().filter_map(|id| numbers.get(id).copied()).collect();
            dependencies.sort_unstable();
            dependencies.dedup();
            for before in &dependencies {
                graph.dependents[*before].push(n);
            }
            graph.dependencies.push(dependencies);
        }
        graph
    }

    /// The layer of each todo; `None` for those in a cycle or that depend on one.
    fn depths(&self) -> Vec<Option<usize>> {
        let mut pending: Vec<usize> = self.dependencies.iter().map(Vec::len).collect();
        let mut depths = vec![None; pending.len()];
        let mut ready: Vec<usize> = (0..pending.len()).filter(|n| pending[*n] == 0).collect();
        while let Some(n) = ready.pop() {
            // All its dependencies have a depth by now.
            depths[n] = Some(
                self.dependencies[n]
                    .iter()
                    .filter_map(|dependency| depths[*dependency])
                    .max()
                    .map_or(0, |depth| depth + 1),
            );
            for dependent in &self.dependents[n] {
                pending[*dependent] -= 1;
                if pending[*dependent] == 0 {
                    ready.push(*dependent);
                }
            }
        }
        depths
    }

    /// Disjoint dependency cycles.
    pub(super) fn cycles(&self) -> Vec<Vec<usize>> {
        let depths = self.depths();
        let mut visited_from: Vec<Option<usize>> = vec![None; depths.len()];
        let mut cycles = Vec::new();
        for start in (0..depths.len()).filter(|n| depths[*n].is_none()) {
            let (mut path, mut current) = (Vec::new(), start);
            while visited_from[current].is_none() {
                visited_from[current] = Some(start);
                path.push(current);
                // A todo without a depth depends on another without one.
                let Some(next) = self.dependencies[current].iter().find(|dependency| depths[**dependency].is_none())
                else {
                    break;
                };
                current = *next;
            }
            if visited_from[current] == Some(start)
                && let Some(cycle_start) = path.iter().position(|n| *n == current)
            {
                cycles.push(path.split_off(cycle_start));
            }
        }
        cycles
    }

    /// The shape, unless there is a cycle.
    pub(super) fn shape(&self, todos: &[Todo]) -> Option<PlanShape> {
        let depths: Vec<usize> = self.depths().into_iter().collect::<Option<_>>()?;
        let mut layers: Vec<Vec<TodoId>> = vec![Vec::new(); depths.iter().max().map_or(0, |depth| depth + 1)];
        for (todo, depth) in todos.iter().zip(&depths) {
            layers[*depth].push(todo.id.clone());
        }
        let mut longest = Vec::new();
        let mut at = (0..depths.len()).rev().max_by_key(|n| depths[*n]);
        while let Some(n) = at {
            longest.push(todos[n].id.clone());
            at = self.dependencies[n].iter().copied().find(|dependency| depths[*dependency] + 1 == depths[n]);
        }
        longest.reverse();
        Some(PlanShape { layers, longest })
    }
}
