//! What a fleet remembers, as its driver asks for it.

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

/// What a fleet remembers of earlier runs in the same workspace.
pub struct FleetResultCache {
    settings: SessionSettings,
    /// The agent of todos that name none.
    default_agent: String,
    /// What lies in the workspace and does not count.
    excluded_paths: Vec<PathBuf>,
    commits: Arc<dyn CommitPinner>,
    /// None before the beginning, and when nothing is to be remembered.
    run: Mutex<Option<CacheRun>>,
    /// Why todos are done again, until somebody asks.
    misses: std::sync::Mutex<BTreeMap<TodoId, CacheMissReason>>,
}

#[derive(Debug)]
struct CacheRun {
    cache: RunResultCache<FleetResultStore>,
    assignments: AssignmentCache,
}

impl fmt::Debug for FleetResultCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetMemory").field("cwd", &self.settings.cwd).finish_non_exhaustive()
    }
}

impl FleetResultCache {
    /// A memory of a session's workspace.
    pub fn new(
        settings: SessionSettings,
        usual: String,
        apart: Vec<PathBuf>,
        works: Arc<dyn CommitPinner>,
    ) -> FleetResultCache {
        FleetResultCache {
            settings,
            default_agent: usual,
            excluded_paths: apart,
            commits: works,
            run: Mutex::new(None),
            misses: std::sync::Mutex::default(),
        }
    }

    /// The fleet is about to work through these todos: looks at the files as they are now.
    pub async fn begin(&self, todos: &[Todo]) {
        let snapshot = self.take_snapshot().await;
        let project = self.settings.cwd.to_string_lossy();
        let recollection = match FleetResultStore::open(&self.settings.home, project) {
            Ok(results) => RunResultCache::begin(results, snapshot),
            Err(error) => {
                tracing::warn!(%error, "what was done before is not known");
                return;
            }
        };
        let mut run = CacheRun { cache: recollection, assignments: AssignmentCache::default() };
        todos.iter().for_each(|todo| self.register(&mut run, todo));
        *self.run.lock().await = Some(run);
    }

    /// Whether a todo that is ready is done again.
    pub async fn lookup(&self, todo: &Todo) -> CacheLookup {
        let mut run = self.run.lock().await;
        let Some(run) = run.as_mut() else { return CacheLookup::Miss(CacheMissReason::CacheDisabled) };
        self.register(run, todo);
        let is_there = match run.cache.work_of(todo) {
            Some(commit) => self.commits.pin_commit(&commit, &run.cache.works_above(todo)).await,
            None => false,
        };
        let recalled = run.cache.lookup(todo, |_commit| is_there);
        if let CacheLookup::Miss(why) = &recalled {
            tracing::info!(todo = %todo.id, %why, "a todo is done");
            self.misses.lock().unwrap_or_else(PoisonError::into_inner).insert(todo.id.clone(), why.clone());
        }
        recalled
    }

    /// Why a todo is done again that was done before; told once.
    pub fn miss_reason(&self, todo: &TodoId) -> Option<CacheMissReason> {
        let why = self.misses.lock().unwrap_or_else(PoisonError::into_inner).remove(todo);
        why.filter(|why| !matches!(why, CacheMissReason::NeverDone | CacheMissReason::CacheDisabled))
    }

    /// A todo is done. A new owner tells of those that were done before it came.
    pub async fn store(&self, todo: &Todo, result: &str, work: Option<&str>) {
        if let Some(run) = self.run.lock().await.as_mut() {
            self.register(run, todo);
            run.cache.store(todo, result, work, self.settings.clock.now());
        }
    }

    /// The fleet has done what it can, or was stopped.
    pub async fn finish(&self, landing: WorkLocation) {
        let Some(mut run) = self.run.lock().await.take() else { return };
        let snapshot = self.take_snapshot().await;
        run.cache.finish(snapshot, landing, self.settings.clock.now());
    }

    fn register(&self, run: &mut CacheRun, todo: &Todo) {
        let SessionSettings { catalog, models, model_spec: model, effort, .. } = &self.settings;
        let staff = AssignmentContext {
            catalog,
            models: &**models,
            model,
            effort: *effort,
            default_agent: &self.default_agent,
        };
        run.cache.register(todo, run.assignments.of(todo, staff));
    }

    async fn take_snapshot(&self) -> Result<TreeSnapshot, TreeSnapshotError> {
        let (cwd, apart) = (self.settings.cwd.clone(), self.excluded_paths.clone());
        let snapshot = tokio::task::spawn_blocking(move || TreeSnapshot::capture(&cwd, apart)).await;
        snapshot.unwrap_or(Err(TreeSnapshotError::Broken))
    }
}
