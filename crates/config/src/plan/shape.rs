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
            let mut above: Vec<usize> = todo.depends_on.iter().filter_map(|id| numbers.get(id).copied()).collect();
            above.sort_unstable();
            above.dedup();
            for before in &above {
                graph.dependents[*before].push(n);
            }
            graph.dependencies.push(above);
        }
        graph
    }

    /// The layer of each todo; `None` for those in a cycle or that depend on one.
    fn depths(&self) -> Vec<Option<usize>> {
        let mut pending: Vec<usize> = self.dependencies.iter().map(Vec::len).collect();
        let mut depths = vec![None; pending.len()];
        let mut free: Vec<usize> = (0..pending.len()).filter(|n| pending[*n] == 0).collect();
        while let Some(n) = free.pop() {
            // All its dependencies have a depth by now.
            depths[n] =
                Some(self.dependencies[n].iter().filter_map(|above| depths[*above]).max().map_or(0, |deep| deep + 1));
            for below in &self.dependents[n] {
                pending[*below] -= 1;
                if pending[*below] == 0 {
                    free.push(*below);
                }
            }
        }
        depths
    }

    /// Disjoint dependency cycles.
    pub(super) fn cycles(&self) -> Vec<Vec<usize>> {
        let depths = self.depths();
        let mut walk: Vec<Option<usize>> = vec![None; depths.len()];
        let mut cycles = Vec::new();
        for start in (0..depths.len()).filter(|n| depths[*n].is_none()) {
            let (mut path, mut at) = (Vec::new(), start);
            while walk[at].is_none() {
                walk[at] = Some(start);
                path.push(at);
                // A todo without a depth depends on another without one.
                let Some(next) = self.dependencies[at].iter().find(|above| depths[**above].is_none()) else { break };
                at = *next;
            }
            if walk[at] == Some(start)
                && let Some(first) = path.iter().position(|n| *n == at)
            {
                cycles.push(path.split_off(first));
            }
        }
        cycles
    }

    /// The shape, unless there is a cycle.
    pub(super) fn shape(&self, todos: &[Todo]) -> Option<PlanShape> {
        let depths: Vec<usize> = self.depths().into_iter().collect::<Option<_>>()?;
        let mut layers: Vec<Vec<TodoId>> = vec![Vec::new(); depths.iter().max().map_or(0, |deep| deep + 1)];
        for (todo, depth) in todos.iter().zip(&depths) {
            layers[*depth].push(todo.id.clone());
        }
        let mut longest = Vec::new();
        let mut at = (0..depths.len()).rev().max_by_key(|n| depths[*n]);
        while let Some(n) = at {
            longest.push(todos[n].id.clone());
            at = self.dependencies[n].iter().copied().find(|above| depths[*above] + 1 == depths[n]);
        }
        longest.reverse();
        Some(PlanShape { layers, longest })
    }
}
