//! Which todos of a fleet need not be done again.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Clip, Timestamp, Todo, TodoId};
use store::{FleetResultRow, StoreError};

use super::assignment::Assignment;
use super::cache_key::CacheKeys;
use super::miss_reason::CacheMissReason;
use super::patterns::FilePatterns;
use super::result_store::ResultBackend;
use super::tree_snapshot::{TreeSnapshot, TreeSnapshotError, changed_patterns};

/// Most bytes of a result that are kept.
const RESULT: usize = 64 * 1024;

/// Whether a todo is done again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheLookup {
    /// It is not: this is what it brought.
    Hit {
        /// What its worker said last.
        result: String,
        /// The commit with its work, if that has yet to be merged.
        work: Option<String>,
    },
    /// It is.
    Miss(CacheMissReason),
}

/// Where the work of a run is when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkLocation {
    /// In the workspace.
    InWorkspace,
    /// In commits beside it, as far as workers had checkouts of their own.
    InCommits,
}

/// What one run of a fleet remembers.
#[derive(Debug)]
pub struct RunResultCache<S> {
    store: S,
    keys: CacheKeys,
    /// The files as they were when the run began, or why nobody knows.
    snapshot: Result<TreeSnapshot, TreeSnapshotError>,
    /// States that were asked for: thousands of todos may have the same patterns.
    states: BTreeMap<Vec<String>, Result<String, String>>,
    /// Todos that were asked for and are done again in this run.
    misses: BTreeSet<TodoId>,
    /// What was done or used again in this run.
    settled: BTreeMap<TodoId, SettledTodo>,
    /// What was told of before what it depends on, by that.
    waiting: BTreeMap<TodoId, Vec<ReportedResult>>,
}

/// What a todo brought, as it was told.
#[derive(Debug)]
struct ReportedResult {
    todo: Todo,
    result: String,
    work: Option<String>,
    at: Timestamp,
}

#[derive(Debug)]
struct SettledTodo {
    key: String,
    files: Vec<String>,
    /// What it depends on.
    depends_on: Vec<TodoId>,
    /// The commit with its work, if that has yet to be merged.
    work: Option<String>,
}

impl SettledTodo {
    fn new(key: String, todo: &Todo, work: Option<String>) -> SettledTodo {
        SettledTodo { key, files: todo.files.clone(), depends_on: todo.depends_on.clone(), work }
    }
}

impl<S: ResultBackend> RunResultCache<S> {
    /// Begins a run with the files as they are now.
    pub fn begin(shelf: S, snapshot: Result<TreeSnapshot, TreeSnapshotError>) -> RunResultCache<S> {
        RunResultCache {
            store: shelf,
            keys: CacheKeys::default(),
            snapshot,
            states: BTreeMap::new(),
            misses: BTreeSet::new(),
            settled: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Takes a todo as it is written now. All of a plan come before the first is recalled.
    pub fn register(&mut self, todo: &Todo, means: &Assignment) {
        self.keys.register(todo, means);
    }

    /// Whether a todo is done again, once everything is done that it depends on; `has_work` says whether a commit is
    /// still there. Who asks again for one that was done or used meanwhile, wants it done again.
    pub fn lookup(&mut self, todo: &Todo, has_work: impl Fn(&str) -> bool) -> CacheLookup {
        let why = match self.settled.remove(&todo.id) {
            Some(settled) => {
                self.keys.clear_result(&todo.id);
                warn_on_error(self.store.remove(&settled.key));
                CacheMissReason::Reopened
            }
            None => match self.find_reusable(todo, has_work) {
                Ok(row) => {
                    self.settle(todo, &row);
                    return CacheLookup::Hit { work: row.commit_id, result: row.result };
                }
                Err(why) => why,
            },
        };
        self.misses.insert(todo.id.clone());
        CacheLookup::Miss(why)
    }

    fn settle(&mut self, todo: &Todo, row: &FleetResultRow) {
        if let Ok(cache_key) = self.keys.key(&todo.id) {
            self.keys.set_result(&todo.id, cache_key, &row.result);
        }
        self.settled.insert(todo.id.clone(), SettledTodo::new(row.key.clone(), todo, row.commit_id.clone()));
    }

    /// What would be recalled if the run began now: what depends on a todo that is done again is taken to be, too.
    pub fn predict(mut self, todos: &[Todo], has_work: impl Fn(&str) -> bool) -> BTreeMap<TodoId, CacheLookup> {
        let by_id: BTreeMap<&TodoId, &Todo> = todos.iter().map(|todo| (&todo.id, todo)).collect();
        let mut foreseen = BTreeMap::new();
        for id in self.keys.order() {
            if let Some(todo) = by_id.get(&id) {
                foreseen.insert(id, self.lookup(todo, &has_work));
            }
        }
        foreseen
    }

    /// A todo is done: keeps what it brought, once it is known what those brought that it depends on.
    pub fn store(&mut self, todo: &Todo, result: &str, work: Option<&str>, at: Timestamp) {
        let result = Clip::new(result, RESULT).into_string();
        let mut told = vec![ReportedResult { todo: todo.clone(), result, work: work.map(str::to_owned), at }];
        while let Some(next) = told.pop() {
            match self.keys.key(&next.todo.id) {
                Ok(cache_key) => {
                    self.keys.set_result(&next.todo.id, cache_key, &next.result);
                    told.extend(self.waiting.remove(&next.todo.id).into_iter().flatten());
                    self.store_result(cache_key.to_string(), next);
                }
                Err(above) => self.waiting.entry(above).or_default().push(next),
            }
        }
    }

    fn store_result(&mut self, key: String, told: ReportedResult) {
        let ReportedResult { todo, result, work, at } = told;
        self.settled.insert(todo.id.clone(), SettledTodo::new(key.clone(), &todo, work.clone()));
        let Ok(before) = self.state(&todo.files) else { return };
        // A new owner tells of what the last one had done, who saw the files as they were before.
        let is_told_again = !self.misses.remove(&todo.id);
        let row = FleetResultRow { key, todo: todo.id, before, after: None, result, commit_id: work };
        let known = self.store.get(&row.key).ok().flatten();
        let is_same = |known: &FleetResultRow| {
            known.result == row.result && (row.commit_id.is_none() || known.commit_id == row.commit_id)
        };
        if !(is_told_again && known.as_ref().is_some_and(is_same)) {
            warn_on_error(self.store.put(&row, at));
        }
    }

    /// The run has ended: what it did and used is in place as the files are now.
    pub fn finish(&mut self, snapshot: Result<TreeSnapshot, TreeSnapshotError>, landing: WorkLocation, at: Timestamp) {
        self.snapshot = snapshot;
        self.states.clear();
        let settled = std::mem::take(&mut self.settled);
        let in_place =
            settled.into_values().filter(|settled| landing == WorkLocation::InWorkspace || settled.work.is_none());
        let states: Vec<(String, String)> =
            in_place.filter_map(|settled| Some((settled.key, self.state(&settled.files).ok()?))).collect();
        warn_on_error(self.store.set_after(&states, at));
    }

    /// The commit without which a todo would be done again.
    pub(super) fn work_of(&mut self, todo: &Todo) -> Option<String> {
        let row = self.row(todo).ok()?;
        let now = self.state(&todo.files).ok()?;
        row.commit_id.filter(|_| row.after.as_ref() != Some(&now))
    }

    /// The commits with the work of what a todo depends on, as far as that has yet to be merged.
    pub(super) fn works_above(&self, todo: &Todo) -> Vec<String> {
        let (mut open, mut seen, mut works) = (todo.depends_on.clone(), BTreeSet::new(), Vec::new());
        while let Some(id) = open.pop() {
            match self.settled.get(&id) {
                Some(SettledTodo { work: Some(work), .. }) => works.push(work.clone()),
                Some(SettledTodo { work: None, depends_on, .. }) if seen.insert(id) => open.extend(depends_on.clone()),
                Some(_) | None => {}
            }
        }
        works
    }

    fn row(&mut self, todo: &Todo) -> Result<FleetResultRow, CacheMissReason> {
        let key = self.keys.key(&todo.id).map_err(CacheMissReason::Upstream)?.to_string();
        let unknown = |error: StoreError| CacheMissReason::Unknown(error.to_string());
        match self.store.get(&key).map_err(unknown)? {
            Some(row) => Ok(row),
            None if self.store.has_todo(&todo.id).map_err(unknown)? => Err(CacheMissReason::KeyChanged),
            None => Err(CacheMissReason::NeverDone),
        }
    }

    /// The result that can be used again, with its work only if that is not in place.
    fn find_reusable(
        &mut self,
        todo: &Todo,
        has_work: impl Fn(&str) -> bool,
    ) -> Result<FleetResultRow, CacheMissReason> {
        let row = self.row(todo)?;
        let now = self.state(&todo.files).map_err(CacheMissReason::Unknown)?;
        if row.after.as_ref() == Some(&now) {
            return Ok(FleetResultRow { commit_id: None, ..row });
        }
        match (&row.commit_id, &row.after) {
            (Some(work), _) if row.before == now => {
                if has_work(work) {
                    Ok(row)
                } else {
                    Err(CacheMissReason::CommitGone)
                }
            }
            (None, None) => Err(CacheMissReason::RunUnfinished),
            (Some(_), None) => Err(self.change_reason(todo, &row.before, &now)),
            (_, Some(after)) => Err(self.change_reason(todo, after, &now)),
        }
    }

    fn change_reason(&self, todo: &Todo, then: &str, now: &str) -> CacheMissReason {
        match FilePatterns::read(&todo.files) {
            Ok(patterns) if !patterns.is_empty() => {
                CacheMissReason::FilesChanged(changed_patterns(&patterns, then, now))
            }
            Ok(_) | Err(_) => CacheMissReason::WorkspaceChanged,
        }
    }

    /// How the files of these patterns were when the run began.
    fn state(&mut self, files: &[String]) -> Result<String, String> {
        if let Some(known) = self.states.get(files) {
            return known.clone();
        }
        let state = match &self.snapshot {
            Ok(snapshot) => FilePatterns::read(files).map(|patterns| snapshot.state(&patterns)),
            Err(error) => Err(error.to_string()),
        };
        self.states.insert(files.to_vec(), state.clone());
        state
    }
}

/// What cannot be kept costs the work once more, and no fleet fails for it.
fn warn_on_error(kept: Result<(), StoreError>) {
    if let Err(error) = kept {
        tracing::warn!(%error, "what a todo brought is not kept");
    }
}
