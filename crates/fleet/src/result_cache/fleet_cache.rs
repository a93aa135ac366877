//! The result cache of a fleet, as its driver uses it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use host::{Clock, Home};
use protocol::{ReasoningEffort, Todo};
use runtime::{Catalog, ModelResolver};
use store::FleetResultStore;
use tokio::sync::Mutex;

use super::assignment::{AssignmentCache, AssignmentContext};
use super::commits::CommitPinner;
use super::miss_reason::CacheMissReason;
use super::run_cache::{CacheLookup, RunResultCache, WorkLocation};
use super::tree_snapshot::{TreeSnapshot, TreeSnapshotError};

/// What the results of a fleet depend on, besides its todos.
pub(crate) struct CacheScope {
    pub(crate) home: Home,
    /// The folder that the fleet works in.
    pub(crate) cwd: PathBuf,
    /// Paths in that folder that the cache ignores.
    pub(crate) excluded: Vec<PathBuf>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) definitions: Arc<Catalog>,
    pub(crate) models: Arc<dyn ModelResolver>,
    /// The session's model.
    pub(crate) model: String,
    pub(crate) effort: Option<ReasoningEffort>,
    /// The agent of todos that name no agent.
    pub(crate) default_agent: String,
}

/// The results of earlier fleets in the same workspace.
pub(crate) struct FleetResultCache {
    scope: CacheScope,
    commits: Arc<dyn CommitPinner>,
    /// `None` before the start, and when the cache is disabled.
    run: Mutex<Option<CacheRun>>,
}

#[derive(Debug)]
struct CacheRun {
    cache: RunResultCache<FleetResultStore>,
    assignments: AssignmentCache,
}

impl fmt::Debug for FleetResultCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetResultCache").field("cwd", &self.scope.cwd).finish_non_exhaustive()
    }
}

impl FleetResultCache {
    /// A cache for a session's workspace.
    pub(crate) fn new(scope: CacheScope, commits: Arc<dyn CommitPinner>) -> FleetResultCache {
        FleetResultCache { scope, commits, run: Mutex::new(None) }
    }

    /// Begins a run with these todos: takes a snapshot of the files.
    pub(crate) async fn begin(&self, todos: &[Todo]) {
        let snapshot = self.take_snapshot().await;
        let project = self.scope.cwd.to_string_lossy();
        let cache = match FleetResultStore::open(&self.scope.home, project) {
            Ok(results) => RunResultCache::begin(results, snapshot),
            Err(error) => {
                tracing::warn!(%error, "earlier results are not available");
                return;
            }
        };
        let mut run = CacheRun { cache, assignments: AssignmentCache::default() };
        todos.iter().for_each(|todo| self.register(&mut run, todo));
        *self.run.lock().await = Some(run);
    }

    /// Looks up a ready todo.
    pub(crate) async fn lookup(&self, todo: &Todo) -> CacheLookup {
        let mut run = self.run.lock().await;
        let Some(run) = run.as_mut() else { return CacheLookup::Miss(CacheMissReason::CacheDisabled) };
        self.register(run, todo);
        let is_pinned = match run.cache.commit_to_reuse(todo) {
            Some(commit) => self.commits.pin_commit(&commit, &run.cache.dependency_commits(todo)).await,
            None => false,
        };
        let lookup = run.cache.lookup(todo, |_commit| is_pinned);
        if let CacheLookup::Miss(why) = &lookup {
            tracing::info!(todo = %todo.id, %why, "the result cache has no result for a todo");
        }
        lookup
    }

    /// Stores the result of a todo, and the commit with its work if there is one. A new owner also stores todos that an
    /// earlier owner completed.
    pub(crate) async fn store(&self, todo: &Todo, result: &str, commit: Option<&str>) {
        if let Some(run) = self.run.lock().await.as_mut() {
            self.register(run, todo);
            run.cache.store(todo, result, commit, self.scope.clock.now());
        }
    }

    /// Ends the run when the fleet has ended or was stopped.
    pub(crate) async fn finish(&self, location: WorkLocation) {
        let Some(mut run) = self.run.lock().await.take() else { return };
        let snapshot = self.take_snapshot().await;
        run.cache.finish(snapshot, location, self.scope.clock.now());
    }

    fn register(&self, run: &mut CacheRun, todo: &Todo) {
        let CacheScope { definitions, models, model, effort, default_agent, .. } = &self.scope;
        let assignment_context =
            AssignmentContext { catalog: definitions, models: &**models, model, effort: *effort, default_agent };
        run.cache.register(todo, run.assignments.get(todo, assignment_context));
    }

    async fn take_snapshot(&self) -> Result<TreeSnapshot, TreeSnapshotError> {
        let (cwd, excluded) = (self.scope.cwd.clone(), self.scope.excluded.clone());
        let snapshot = tokio::task::spawn_blocking(move || TreeSnapshot::capture(&cwd, excluded)).await;
        snapshot.unwrap_or(Err(TreeSnapshotError::ScanFailed))
    }
}
