//! Decides which todos of a fleet need not be done again.

use std::collections::{BTreeMap, BTreeSet};

use host::Home;
use protocol::{Clip, Timestamp, Todo, TodoId};
use store::{FleetResultRow, FleetResultStore, StoreError};

use super::assignment::Assignment;
use super::cache_key::CacheKeys;
use super::miss_reason::CacheMissReason;
use super::patterns::{FilePatterns, PatternError};
use super::result_store::ResultBackend;
use super::tree_snapshot::{TreeSnapshot, TreeSnapshotError, changed_patterns};

/// The most bytes of a result that are stored.
const MAX_RESULT_BYTES: usize = 64 * 1024;

/// The outcome of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheLookup {
    /// The todo has a reusable result.
    Hit {
        /// The final text of its worker.
        result: String,
        /// The commit with its work, if it is not merged yet.
        work: Option<String>,
    },
    /// The todo must be done.
    Miss(CacheMissReason),
}

/// Where the work of a run is when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkLocation {
    /// In the workspace.
    InWorkspace,
    /// In commits, as far as workers had their own checkouts.
    InCommits,
}

/// Why the state of a todo's files is unknown.
#[derive(Debug, Clone, thiserror::Error)]
enum StateError {
    #[error(transparent)]
    Patterns(#[from] PatternError),
    #[error(transparent)]
    Snapshot(#[from] TreeSnapshotError),
}

/// The result cache during one run of a fleet.
#[derive(Debug)]
pub struct RunResultCache<S> {
    store: S,
    keys: CacheKeys,
    /// The files at the start of the run, or why there is no snapshot.
    snapshot: Result<TreeSnapshot, TreeSnapshotError>,
    /// Computed states: thousands of todos may have the same patterns.
    states: BTreeMap<Vec<String>, Result<String, StateError>>,
    /// Todos that were looked up and must be done in this run.
    misses: BTreeSet<TodoId>,
    /// Todos that were done or reused in this run.
    settled: BTreeMap<TodoId, SettledTodo>,
    /// Results that arrived before those of a dependency, by that dependency.
    waiting: BTreeMap<TodoId, Vec<ReportedResult>>,
}

/// A result as it was reported.
#[derive(Debug)]
struct ReportedResult {
    todo: Todo,
    result: String,
    work: Option<String>,
    at: Timestamp,
}

#[derive(Debug)]
struct SettledTodo {
    /// Its cache key.
    key: String,
    files: Vec<String>,
    /// Its dependencies.
    depends_on: Vec<TodoId>,
    /// The commit with its work, if it is not merged yet.
    work: Option<String>,
}

impl SettledTodo {
    fn new(key: String, todo: &Todo, work: Option<String>) -> SettledTodo {
        SettledTodo { key, files: todo.files.clone(), depends_on: todo.depends_on.clone(), work }
    }
}

impl RunResultCache<FleetResultStore> {
    /// Opens the results of a project and begins a run with the files as they are now.
    pub fn open(
        home: &Home,
        project: impl Into<String>,
        snapshot: Result<TreeSnapshot, TreeSnapshotError>,
    ) -> Result<RunResultCache<FleetResultStore>, StoreError> {
        Ok(RunResultCache::begin(FleetResultStore::open(home, project)?, snapshot))
    }
}

impl<S: ResultBackend> RunResultCache<S> {
    /// Begins a run with the files as they are now.
    pub fn begin(store: S, snapshot: Result<TreeSnapshot, TreeSnapshotError>) -> RunResultCache<S> {
        RunResultCache {
            store,
            keys: CacheKeys::default(),
            snapshot,
            states: BTreeMap::new(),
            misses: BTreeSet::new(),
            settled: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Registers a todo in its current form. All todos of a plan must be registered before the first lookup.
    pub fn register(&mut self, todo: &Todo, assignment: &Assignment) {
        self.keys.register(todo, assignment);
    }

    /// Looks up a todo whose dependencies are done; `has_commit` returns whether a commit still exists. Looking up a
    /// todo that was done or reused in this run reopens it.
    pub fn lookup(&mut self, todo: &Todo, has_commit: impl Fn(&str) -> bool) -> CacheLookup {
        let why = match self.settled.remove(&todo.id) {
            Some(settled) => {
                self.keys.clear_result(&todo.id);
                warn_on_error(self.store.remove(&settled.key));
                CacheMissReason::Reopened
            }
            None => match self.find_reusable(todo, has_commit) {
                Ok(row) => {
                    self.mark_reused(todo, &row);
                    return CacheLookup::Hit { work: row.commit_id, result: row.result };
                }
                Err(why) => why,
            },
        };
        self.misses.insert(todo.id.clone());
        CacheLookup::Miss(why)
    }

    fn mark_reused(&mut self, todo: &Todo, row: &FleetResultRow) {
        if let Ok(cache_key) = self.keys.key(&todo.id) {
            self.keys.set_result(&todo.id, cache_key, &row.result);
        }
        self.settled.insert(todo.id.clone(), SettledTodo::new(row.key.clone(), todo, row.commit_id.clone()));
    }

    /// Predicts the lookups of a run that begins now. A todo that depends on a miss counts as a miss.
    pub fn predict(mut self, todos: &[Todo], has_commit: impl Fn(&str) -> bool) -> BTreeMap<TodoId, CacheLookup> {
        let by_id: BTreeMap<&TodoId, &Todo> = todos.iter().map(|todo| (&todo.id, todo)).collect();
        let mut predicted = BTreeMap::new();
        for id in self.keys.topological_order() {
            if let Some(todo) = by_id.get(&id) {
                predicted.insert(id, self.lookup(todo, &has_commit));
            }
        }
        predicted
    }

    /// Stores the result of a todo, once the results of its dependencies are known.
    pub fn store(&mut self, todo: &Todo, result: &str, work: Option<&str>, at: Timestamp) {
        let result = Clip::new(result, MAX_RESULT_BYTES).into_string();
        let mut pending = vec![ReportedResult { todo: todo.clone(), result, work: work.map(str::to_owned), at }];
        while let Some(next) = pending.pop() {
            match self.keys.key(&next.todo.id) {
                Ok(cache_key) => {
                    self.keys.set_result(&next.todo.id, cache_key, &next.result);
                    pending.extend(self.waiting.remove(&next.todo.id).into_iter().flatten());
                    self.store_result(cache_key.to_string(), next);
                }
                Err(dependency) => self.waiting.entry(dependency).or_default().push(next),
            }
        }
    }

    fn store_result(&mut self, key: String, reported: ReportedResult) {
        let ReportedResult { todo, result, work, at } = reported;
        self.settled.insert(todo.id.clone(), SettledTodo::new(key.clone(), &todo, work.clone()));
        let Ok(before) = self.state(&todo.files) else { return };
        // A new owner stores again what the previous owner did. The row of the previous owner has the right state of
        // the files before the work.
        let is_repeated = !self.misses.remove(&todo.id);
        let row = FleetResultRow { key, todo: todo.id, before, after: None, result, commit_id: work };
        let stored = self.store.get(&row.key).ok().flatten();
        let is_same = |stored: &FleetResultRow| {
            stored.result == row.result && (row.commit_id.is_none() || stored.commit_id == row.commit_id)
        };
        if !(is_repeated && stored.as_ref().is_some_and(is_same)) {
            warn_on_error(self.store.put(&row, at));
        }
    }

    /// Ends the run: records the current state of the files for all todos that were done or reused.
    pub fn finish(&mut self, snapshot: Result<TreeSnapshot, TreeSnapshotError>, location: WorkLocation, at: Timestamp) {
        self.snapshot = snapshot;
        self.states.clear();
        let settled = std::mem::take(&mut self.settled);
        let in_place =
            settled.into_values().filter(|settled| location == WorkLocation::InWorkspace || settled.work.is_none());
        let states: Vec<(String, String)> =
            in_place.filter_map(|settled| Some((settled.key, self.state(&settled.files).ok()?))).collect();
        warn_on_error(self.store.set_files_after(&states, at));
    }

    /// The commit that is needed to reuse the result of a todo.
    pub(super) fn commit_to_reuse(&mut self, todo: &Todo) -> Option<String> {
        let row = self.stored_row(todo).ok()?;
        let current = self.state(&todo.files).ok()?;
        row.commit_id.filter(|_| row.after.as_ref() != Some(&current))
    }

    /// The commits with the work of a todo's dependencies, as far as they are not merged yet.
    pub(super) fn dependency_commits(&self, todo: &Todo) -> Vec<String> {
        let (mut open, mut seen, mut commits) = (todo.depends_on.clone(), BTreeSet::new(), Vec::new());
        while let Some(id) = open.pop() {
            match self.settled.get(&id) {
                Some(SettledTodo { work: Some(work), .. }) => commits.push(work.clone()),
                Some(SettledTodo { work: None, depends_on, .. }) if seen.insert(id) => open.extend(depends_on.clone()),
                Some(_) | None => {}
            }
        }
        commits
    }

    fn stored_row(&mut self, todo: &Todo) -> Result<FleetResultRow, CacheMissReason> {
        let key = self.keys.key(&todo.id).map_err(CacheMissReason::Upstream)?.to_string();
        let unknown = |error: StoreError| CacheMissReason::Unknown(error.to_string());
        match self.store.get(&key).map_err(unknown)? {
            Some(row) => Ok(row),
            None if self.store.has_todo(&todo.id).map_err(unknown)? => Err(CacheMissReason::KeyChanged),
            None => Err(CacheMissReason::NeverDone),
        }
    }

    /// The reusable result, with its commit only if the work is not in the workspace.
    fn find_reusable(
        &mut self,
        todo: &Todo,
        has_commit: impl Fn(&str) -> bool,
    ) -> Result<FleetResultRow, CacheMissReason> {
        let row = self.stored_row(todo)?;
        let current = self.state(&todo.files).map_err(|error| CacheMissReason::Unknown(error.to_string()))?;
        if row.after.as_ref() == Some(&current) {
            return Ok(FleetResultRow { commit_id: None, ..row });
        }
        match (&row.commit_id, &row.after) {
            (Some(commit), _) if row.before == current => {
                if has_commit(commit) {
                    Ok(row)
                } else {
                    Err(CacheMissReason::CommitGone)
                }
            }
            (None, None) => Err(CacheMissReason::RunUnfinished),
            (Some(_), None) => Err(self.change_reason(todo, &row.before, &current)),
            (_, Some(after)) => Err(self.change_reason(todo, after, &current)),
        }
    }

    fn change_reason(&self, todo: &Todo, earlier: &str, current: &str) -> CacheMissReason {
        match FilePatterns::parse(&todo.files) {
            Ok(patterns) if !patterns.is_empty() => {
                CacheMissReason::FilesChanged(changed_patterns(&patterns, earlier, current))
            }
            Ok(_) | Err(_) => CacheMissReason::WorkspaceChanged,
        }
    }

    /// The state of the files of these patterns at the time of the snapshot.
    fn state(&mut self, files: &[String]) -> Result<String, StateError> {
        if let Some(computed) = self.states.get(files) {
            return computed.clone();
        }
        let state = match &self.snapshot {
            Ok(snapshot) => {
                FilePatterns::parse(files).map(|patterns| snapshot.state(&patterns)).map_err(StateError::from)
            }
            Err(error) => Err((*error).into()),
        };
        self.states.insert(files.to_vec(), state.clone());
        state
    }
}

/// Logs a failed write. A result that is not stored only costs the work again.
fn warn_on_error(result: Result<(), StoreError>) {
    if let Err(error) = result {
        tracing::warn!(%error, "the result of a todo was not stored");
    }
}
