//! The result cache of a fleet, as its driver uses it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use protocol::{Todo, TodoId};
use store::FleetResultStore;
use tokio::sync::Mutex;

use super::assignment::{AssignmentCache, AssignmentContext};
use super::commits::CommitPinner;
use super::miss_reason::CacheMissReason;
use super::run_cache::{CacheLookup, RunResultCache, WorkLocation};
use super::tree_snapshot::{TreeSnapshot, TreeSnapshotError};
use crate::settings::SessionSettings;

/// The results of earlier fleets in the same workspace.
pub struct FleetResultCache {
    settings: SessionSettings,
    /// The agent of todos that name no agent.
    default_agent: String,
    /// Paths in the workspace that the cache ignores.
    excluded_paths: Vec<PathBuf>,
    commits: Arc<dyn CommitPinner>,
    /// `None` before the start, and when the cache is disabled.
    run: Mutex<Option<CacheRun>>,
    /// Why todos are done again, until reported.
    misses: std::sync::Mutex<BTreeMap<TodoId, CacheMissReason>>,
}

#[derive(Debug)]
struct CacheRun {
    cache: RunResultCache<FleetResultStore>,
    assignments: AssignmentCache,
}

impl fmt::Debug for FleetResultCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetResultCache").field("cwd", &self.settings.cwd).finish_non_exhaustive()
    }
}

impl FleetResultCache {
    /// A cache for a session's workspace.
    pub fn new(
        settings: SessionSettings,
        default_agent: String,
        excluded_paths: Vec<PathBuf>,
        commits: Arc<dyn CommitPinner>,
    ) -> FleetResultCache {
        FleetResultCache {
            settings,
            default_agent,
            excluded_paths,
            commits,
            run: Mutex::new(None),
            misses: std::sync::Mutex::default(),
        }
    }

    /// Begins a run with these todos: takes a snapshot of the files.
    pub async fn begin(&self, todos: &[Todo]) {
        let snapshot = self.take_snapshot().await;
        let project = self.settings.cwd.to_string_lossy();
        let cache = match FleetResultStore::open(&self.settings.home, project) {
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
    pub async fn lookup(&self, todo: &Todo) -> CacheLookup {
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
            self.misses.lock().unwrap_or_else(PoisonError::into_inner).insert(todo.id.clone(), why.clone());
        }
        lookup
    }

    /// Returns, only once, why a todo that was done before is done again.
    pub fn miss_reason(&self, todo: &TodoId) -> Option<CacheMissReason> {
        let why = self.misses.lock().unwrap_or_else(PoisonError::into_inner).remove(todo);
        why.filter(|why| !matches!(why, CacheMissReason::NeverDone | CacheMissReason::CacheDisabled))
    }

    /// Stores the result of a todo, and the commit with its work if there is one. A new owner also stores todos that an
    /// earlier owner completed.
    pub async fn store(&self, todo: &Todo, result: &str, commit: Option<&str>) {
        if let Some(run) = self.run.lock().await.as_mut() {
            self.register(run, todo);
            run.cache.store(todo, result, commit, self.settings.clock.now());
        }
    }

    /// Ends the run when the fleet has ended or was stopped.
    pub async fn finish(&self, location: WorkLocation) {
        let Some(mut run) = self.run.lock().await.take() else { return };
        let snapshot = self.take_snapshot().await;
        run.cache.finish(snapshot, location, self.settings.clock.now());
    }

    fn register(&self, run: &mut CacheRun, todo: &Todo) {
        let SessionSettings { catalog, models, model_spec: model, effort, .. } = &self.settings;
        let assignment_context = AssignmentContext {
            catalog,
            models: &**models,
            model,
            effort: *effort,
            default_agent: &self.default_agent,
        };
        run.cache.register(todo, run.assignments.get(todo, assignment_context));
    }

    async fn take_snapshot(&self) -> Result<TreeSnapshot, TreeSnapshotError> {
        let (cwd, excluded) = (self.settings.cwd.clone(), self.excluded_paths.clone());
        let snapshot = tokio::task::spawn_blocking(move || TreeSnapshot::capture(&cwd, excluded)).await;
        snapshot.unwrap_or(Err(TreeSnapshotError::ScanFailed))
    }
}
