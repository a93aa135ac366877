//! For any plan, a second run does exactly what failed, what was edited, and what an edit invalidates.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use protocol::{Timestamp, Todo, TodoId};

use super::{MemoryResultStore, means};
use crate::result_cache::content_hash::ContentHash;
use crate::result_cache::{CacheLookup, RunResultCache, TreeSnapshot, WorkLocation};

/// Folders that todos may declare.
const FOLDERS: u8 = 3;

/// A todo of a random plan, and what happens to it.
#[derive(Debug, Clone)]
struct RandomTodo {
    /// Which of the todos before it it depends on.
    above: u16,
    /// Which folders it declares.
    folders: u8,
    fails: bool,
    /// Between the runs.
    edited: bool,
    loses: Option<u16>,
    work_gone: bool,
    /// Whether its result differs each time.
    moody: bool,
}

#[derive(Debug, Clone)]
struct RandomPlan {
    lots: Vec<RandomTodo>,
    /// Folders in which a file is edited between the runs; the last one is not declared by any todo.
    edits: u8,
    isolated: bool,
}

fn lot() -> impl Strategy<Value = RandomTodo> {
    let rarely = || proptest::bool::weighted(0.1);
    let some = proptest::option::weighted(0.1, any::<u16>());
    (any::<u16>(), 0..1_u8 << FOLDERS, rarely(), rarely(), some, rarely(), any::<bool>()).prop_map(
        |(above, folders, fails, edited, loses, work_gone, moody)| RandomTodo {
            // Few edges, or everything is downstream of everything.
            above: above & (above >> 8 | above << 7) & 0x7777,
            folders,
            fails,
            edited,
            loses,
            work_gone,
            moody,
        },
    )
}

fn story() -> impl Strategy<Value = RandomPlan> {
    let edits = prop_oneof![3 => Just(0_u8), 1 => 0..1_u8 << (FOLDERS + 1)];
    (proptest::collection::vec(lot(), 1..12), edits, any::<bool>()).prop_map(|(lots, edits, isolated)| RandomPlan {
        lots,
        edits,
        isolated,
    })
}

impl RandomPlan {
    fn above(&self, n: usize, run: u32) -> Vec<usize> {
        let lot = &self.lots[n];
        let lost = lot.loses.filter(|_| run > 1).unwrap_or_default();
        (0..n).filter(|above| lot.above & !lost & (1 << above) != 0).collect()
    }

    fn folders(&self, n: usize) -> impl Iterator<Item = u8> {
        let folders = self.lots[n].folders;
        (0..FOLDERS).filter(move |folder| folders & (1 << folder) != 0)
    }

    fn plan(&self, run: u32) -> Vec<Todo> {
        let todo = |n: usize| Todo {
            depends_on: self.above(n, run).into_iter().map(id).collect(),
            files: self.folders(n).map(|folder| format!("d{folder}")).collect(),
            description: (self.lots[n].edited && run > 1).then(|| "other words".into()),
            ..Todo::new(id(n).0, format!("Do {n}"))
        };
        (0..self.lots.len()).map(todo).collect()
    }

    fn says(&self, n: usize, run: u32) -> String {
        if self.lots[n].moody { format!("{n} in {run}") } else { format!("{n} as ever") }
    }

    /// What the second run must do, from the graph alone.
    fn expected(&self, done: &BTreeSet<usize>) -> BTreeSet<usize> {
        let (mut runs, mut invalid) = (BTreeSet::new(), BTreeSet::new());
        for n in 0..self.lots.len() {
            let lot = &self.lots[n];
            let above = self.above(n, 2);
            let other = lot.edited || above != self.above(n, 1) || above.iter().any(|above| invalid.contains(above));
            let touched = match lot.folders {
                0 => self.edits != 0,
                folders => folders & self.edits != 0,
            };
            if !done.contains(&n) || other || touched || (self.isolated && lot.work_gone) {
                runs.insert(n);
            }
            if other || (runs.contains(&n) && done.contains(&n) && self.says(n, 1) != self.says(n, 2)) {
                invalid.insert(n);
            }
        }
        runs
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
            self.0.iter().map(|(path, text)| (path.clone().into_bytes(), ContentHash::of(text))).collect(),
        )
    }
}

/// One run: which todos were done by a worker, and which are done in the end.
fn run(
    story: &RandomPlan,
    run: u32,
    fails: bool,
    files: &mut FakeFiles,
    board: &mut MemoryResultStore,
) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let plan = story.plan(run);
    let mut recollection = RunResultCache::begin(board, Ok(files.snapshot()));
    plan.iter().for_each(|todo| recollection.register(todo, &means()));
    let (mut worked, mut done) = (BTreeSet::new(), BTreeSet::new());
    for (n, todo) in plan.iter().enumerate() {
        if !story.above(n, run).iter().all(|above| done.contains(above)) {
            continue;
        }
        let has_work = |_: &str| !story.lots[n].work_gone;
        if let CacheLookup::Hit { .. } = recollection.lookup(todo, has_work) {
            done.insert(n);
            continue;
        }
        worked.insert(n);
        if !story.isolated {
            let folder = story.folders(n).next().map_or("elsewhere".into(), |folder| format!("d{folder}"));
            files.0.insert(format!("{folder}/of-{n}"), format!("written in {run}"));
        }
        if fails && story.lots[n].fails {
            continue;
        }
        recollection.store(todo, &story.says(n, run), story.isolated.then_some("c0ffee"), Timestamp(1));
        done.insert(n);
    }
    let landing = if story.isolated { WorkLocation::InCommits } else { WorkLocation::InWorkspace };
    recollection.finish(Ok(files.snapshot()), landing, Timestamp(2));
    (worked, done)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_second_run_does_exactly_what_failed_was_edited_or_is_invalid(story in story()) {
        let (mut files, mut board) = (FakeFiles::default(), MemoryResultStore::default());
        let (first, done) = run(&story, 1, true, &mut files, &mut board);
        prop_assert!(done.is_subset(&first), "nothing is known before the first run");
        for folder in (0..=FOLDERS).filter(|folder| story.edits & (1 << folder) != 0) {
            files.0.insert(format!("d{folder}/by-hand"), "edited".into());
        }
        let (second, all) = run(&story, 2, false, &mut files, &mut board);
        prop_assert_eq!(second, story.expected(&done));
        prop_assert_eq!(all.len(), story.lots.len());
        if !(story.isolated && story.lots.iter().any(|lot| lot.work_gone)) {
            let (third, _) = run(&story, 3, false, &mut files, &mut board);
            prop_assert!(third.is_empty(), "nothing changed, and {third:?} ran again");
        }
    }
}
