//! The shape of a graph of todos: its layers, its longest path, and the circles that keep it from having any.

use std::collections::BTreeMap;

use protocol::{Todo, TodoId};
use serde::Serialize;

/// How a plan's todos stand to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanShape {
    /// The todos by layer: each waits for one of the layer before, and for none of a later one.
    pub layers: Vec<Vec<TodoId>>,
    /// The longest path of todos that wait for each other, the first one first.
    pub longest: Vec<TodoId>,
}

impl PlanShape {
    /// How many todos could be worked on at once, at most.
    pub fn widest(&self) -> usize {
        self.layers.iter().map(Vec::len).max().unwrap_or_default()
    }
}

/// The todos as numbers, with what each waits for.
pub(super) struct PlanGraph {
    dependencies: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
}

impl PlanGraph {
    /// Dependencies that no todo has are left out.
    pub(super) fn new(todos: &[Todo]) -> PlanGraph {
        let numbers: BTreeMap<&TodoId, usize> = todos.iter().zip(0..).map(|(todo, n)| (&todo.id, n)).collect();
        let mut web = PlanGraph { dependencies: Vec::new(), dependents: vec![Vec::new(); todos.len()] };
        for (n, todo) in todos.iter().enumerate() {
            let mut above: Vec<usize> = todo.depends_on.iter().filter_map(|id| numbers.get(id).copied()).collect();
            above.sort_unstable();
            above.dedup();
            for before in &above {
                web.dependents[*before].push(n);
            }
            web.dependencies.push(above);
        }
        web
    }

    /// The layer of each todo; none for those in a circle or behind one.
    fn depths(&self) -> Vec<Option<usize>> {
        let mut waits: Vec<usize> = self.dependencies.iter().map(Vec::len).collect();
        let mut depths = vec![None; waits.len()];
        let mut free: Vec<usize> = (0..waits.len()).filter(|n| waits[*n] == 0).collect();
        while let Some(n) = free.pop() {
            // All of what it waits for has a depth by now.
            depths[n] =
                Some(self.dependencies[n].iter().filter_map(|above| depths[*above]).max().map_or(0, |deep| deep + 1));
            for below in &self.dependents[n] {
                waits[*below] -= 1;
                if waits[*below] == 0 {
                    free.push(*below);
                }
            }
        }
        depths
    }

    /// Circles of todos that wait for each other, none sharing a todo with another.
    pub(super) fn cycles(&self) -> Vec<Vec<usize>> {
        let depths = self.depths();
        let mut walk: Vec<Option<usize>> = vec![None; depths.len()];
        let mut circles = Vec::new();
        for start in (0..depths.len()).filter(|n| depths[*n].is_none()) {
            let (mut path, mut at) = (Vec::new(), start);
            while walk[at].is_none() {
                walk[at] = Some(start);
                path.push(at);
                // Whoever has no depth waits for somebody who has none either.
                let Some(next) = self.dependencies[at].iter().find(|above| depths[**above].is_none()) else { break };
                at = *next;
            }
            if walk[at] == Some(start)
                && let Some(first) = path.iter().position(|n| *n == at)
            {
                circles.push(path.split_off(first));
            }
        }
        circles
    }

    /// The shape, unless there is a circle.
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
