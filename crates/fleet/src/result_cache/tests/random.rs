//! Tests random plans: a second run does exactly the todos that failed, were edited, or are invalidated by an edit.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use protocol::{Timestamp, Todo, TodoId};

use super::{MemoryResultStore, default_assignment};
use crate::result_cache::content_hash::ContentHash;
use crate::result_cache::{CacheLookup, RunResultCache, TreeSnapshot, WorkLocation};

/// Folders that todos may declare.
const FOLDERS: u8 = 3;

/// A todo of a random plan, and what happens to it.
#[derive(Debug, Clone)]
struct RandomTodo {
    /// Which of the earlier todos it depends on, as bits.
    dependency_bits: u16,
    /// Which folders it declares, as bits.
    folder_bits: u8,
    /// Whether it fails in the first run.
    fails: bool,
    /// Whether its text is edited between the runs.
    edited: bool,
    /// The dependencies that it loses between the runs, as bits.
    lost_dependencies: Option<u16>,
    /// Whether the commit with its work is gone in later runs.
    commit_gone: bool,
    /// Whether its result differs each time.
    result_varies: bool,
}

#[derive(Debug, Clone)]
struct RandomPlan {
    random_todos: Vec<RandomTodo>,
    /// Folders in which a file is edited between the runs; the last one is not declared by any todo.
    edits: u8,
    isolated: bool,
}

fn random_todo() -> impl Strategy<Value = RandomTodo> {
    let rarely = || proptest::bool::weighted(0.1);
    let some = proptest::option::weighted(0.1, any::<u16>());
    (any::<u16>(), 0..1_u8 << FOLDERS, rarely(), rarely(), some, rarely(), any::<bool>()).prop_map(
        |(bits, folder_bits, fails, edited, lost_dependencies, commit_gone, result_varies)| RandomTodo {
            // Few edges, or almost every todo would depend on all others.
            dependency_bits: bits & (bits >> 8 | bits << 7) & 0x7777,
            folder_bits,
            fails,
            edited,
            lost_dependencies,
            commit_gone,
            result_varies,
        },
    )
}

fn random_plan() -> impl Strategy<Value = RandomPlan> {
    let edits = prop_oneof![3 => Just(0_u8), 1 => 0..1_u8 << (FOLDERS + 1)];
    (proptest::collection::vec(random_todo(), 1..12), edits, any::<bool>())
        .prop_map(|(random_todos, edits, isolated)| RandomPlan { random_todos, edits, isolated })
}

impl RandomPlan {
    fn dependencies(&self, n: usize, run: u32) -> Vec<usize> {
        let todo = &self.random_todos[n];
        let lost = todo.lost_dependencies.filter(|_| run > 1).unwrap_or_default();
        (0..n).filter(|earlier| todo.dependency_bits & !lost & (1 << earlier) != 0).collect()
    }

    fn folders(&self, n: usize) -> impl Iterator<Item = u8> {
        let folders = self.random_todos[n].folder_bits;
        (0..FOLDERS).filter(move |folder| folders & (1 << folder) != 0)
    }

    fn todos(&self, run: u32) -> Vec<Todo> {
        let todo = |n: usize| Todo {
            depends_on: self.dependencies(n, run).into_iter().map(id).collect(),
            files: self.folders(n).map(|folder| format!("d{folder}")).collect(),
            description: (self.random_todos[n].edited && run > 1).then(|| "other words".into()),
            ..Todo::new(id(n).0, format!("Do {n}"))
        };
        (0..self.random_todos.len()).map(todo).collect()
    }

    fn result_text(&self, n: usize, run: u32) -> String {
        if self.random_todos[n].result_varies { format!("{n} in {run}") } else { format!("{n} as before") }
    }

    /// The todos that the second run must do, from the graph alone.
    fn expected(&self, done: &BTreeSet<usize>) -> BTreeSet<usize> {
        let (mut must_run, mut invalid) = (BTreeSet::new(), BTreeSet::new());
        for n in 0..self.random_todos.len() {
            let todo = &self.random_todos[n];
            let dependencies = self.dependencies(n, 2);
            let is_changed = todo.edited
                || dependencies != self.dependencies(n, 1)
                || dependencies.iter().any(|dependency| invalid.contains(dependency));
            let has_edited_files = match todo.folder_bits {
                0 => self.edits != 0,
                folders => folders & self.edits != 0,
            };
            if !done.contains(&n) || is_changed || has_edited_files || (self.isolated && todo.commit_gone) {
                must_run.insert(n);
            }
            if is_changed
                || (must_run.contains(&n) && done.contains(&n) && self.result_text(n, 1) != self.result_text(n, 2))
            {
                invalid.insert(n);
            }
        }
        must_run
    }
}

fn id(n: usize) -> TodoId {
    TodoId(format!("t{n}"))
}

/// The files of a simulated workspace.
#[derive(Debug, Default)]
struct FakeFiles(BTreeMap<String, String>);

impl FakeFiles {
    fn snapshot(&self) -> TreeSnapshot {
        TreeSnapshot::from_files(
            self.0.iter().map(|(path, text)| (path.clone().into_bytes(), ContentHash::of_text(text))).collect(),
        )
    }
}

/// Simulates one run. Returns the todos that a worker did, and those that are done in the end.
fn run(
    plan: &RandomPlan,
    run: u32,
    fails: bool,
    files: &mut FakeFiles,
    store: &mut MemoryResultStore,
) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let todos = plan.todos(run);
    let mut cache = RunResultCache::begin(store, Ok(files.snapshot()));
    todos.iter().for_each(|todo| cache.register(todo, &default_assignment()));
    let (mut worked, mut done) = (BTreeSet::new(), BTreeSet::new());
    for (n, todo) in todos.iter().enumerate() {
        if !plan.dependencies(n, run).iter().all(|dependency| done.contains(dependency)) {
            continue;
        }
        let has_commit = |_: &str| !plan.random_todos[n].commit_gone;
        if let CacheLookup::Hit { .. } = cache.lookup(todo, has_commit) {
            done.insert(n);
            continue;
        }
        worked.insert(n);
        if !plan.isolated {
            let folder = plan.folders(n).next().map_or("elsewhere".into(), |folder| format!("d{folder}"));
            files.0.insert(format!("{folder}/of-{n}"), format!("written in {run}"));
        }
        if fails && plan.random_todos[n].fails {
            continue;
        }
        cache.store(todo, &plan.result_text(n, run), plan.isolated.then_some("c0ffee"), Timestamp(1));
        done.insert(n);
    }
    let location = if plan.isolated { WorkLocation::InCommits } else { WorkLocation::InWorkspace };
    cache.finish(Ok(files.snapshot()), location, Timestamp(2));
    (worked, done)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_second_run_does_exactly_the_failed_edited_and_invalid_todos(plan in random_plan()) {
        let (mut files, mut store) = (FakeFiles::default(), MemoryResultStore::default());
        let (first, done) = run(&plan, 1, true, &mut files, &mut store);
        prop_assert!(done.is_subset(&first), "the first run reuses nothing");
        for folder in (0..=FOLDERS).filter(|folder| plan.edits & (1 << folder) != 0) {
            files.0.insert(format!("d{folder}/by-hand"), "edited".into());
        }
        let (second, all) = run(&plan, 2, false, &mut files, &mut store);
        prop_assert_eq!(second, plan.expected(&done));
        prop_assert_eq!(all.len(), plan.random_todos.len());
        if !(plan.isolated && plan.random_todos.iter().any(|todo| todo.commit_gone)) {
            let (third, _) = run(&plan, 3, false, &mut files, &mut store);
            prop_assert!(third.is_empty(), "nothing changed, but {third:?} ran again");
        }
    }
}
