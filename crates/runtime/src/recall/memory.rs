//! What a fleet remembers, as its driver asks for it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use protocol::Todo;
use store::Results;
use tokio::sync::Mutex;
use tools::BoxFuture;

use super::census::{Census, CensusError};
use super::means::{AllMeans, Staff};
use super::recollection::{Landing, Recalled, Recollection};
use super::why::Why;
use crate::settings::Settings;

/// Knows which commits are there.
pub trait Works: Send + Sync + fmt::Debug {
    /// Whether the workspace's repository still has this commit.
    fn has<'a>(&'a self, commit: &'a str) -> BoxFuture<'a, bool>;
}

/// Knows of no commit: what was done in a checkout is done again.
#[derive(Debug, Clone, Copy)]
pub struct NoWorks;

impl Works for NoWorks {
    fn has<'a>(&'a self, _commit: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }
}

/// What a fleet remembers of earlier runs in the same workspace.
pub struct FleetMemory {
    settings: Settings,
    /// The agent of todos that name none.
    usual: String,
    /// What lies in the workspace and does not count.
    apart: Vec<PathBuf>,
    works: Arc<dyn Works>,
    /// None before the beginning, and when nothing is to be remembered.
    run: Mutex<Option<Run>>,
}

#[derive(Debug)]
struct Run {
    recollection: Recollection<Results>,
    means: AllMeans,
}

impl fmt::Debug for FleetMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetMemory").field("cwd", &self.settings.cwd).finish_non_exhaustive()
    }
}

impl FleetMemory {
    /// A memory of a session's workspace.
    pub fn new(settings: Settings, usual: String, apart: Vec<PathBuf>, works: Arc<dyn Works>) -> FleetMemory {
        FleetMemory { settings, usual, apart, works, run: Mutex::new(None) }
    }

    /// The fleet is about to work through these todos: looks at the files as they are now.
    pub async fn begin(&self, todos: &[Todo]) {
        let census = self.census().await;
        let project = self.settings.cwd.to_string_lossy();
        let recollection = match Results::open(&self.settings.home, project) {
            Ok(results) => Recollection::begin(results, census),
            Err(error) => {
                tracing::warn!(%error, "what was done before is not known");
                return;
            }
        };
        let mut run = Run { recollection, means: AllMeans::default() };
        todos.iter().for_each(|todo| self.learn(&mut run, todo));
        *self.run.lock().await = Some(run);
    }

    /// Whether a todo that is ready is done again.
    pub async fn recall(&self, todo: &Todo) -> Recalled {
        let mut run = self.run.lock().await;
        let Some(run) = run.as_mut() else { return Recalled::Again(Why::Fresh) };
        self.learn(run, todo);
        let is_there = match run.recollection.work_of(todo) {
            Some(commit) => self.works.has(&commit).await,
            None => false,
        };
        let recalled = run.recollection.recall(todo, |_commit| is_there);
        if let Recalled::Again(why) = &recalled {
            tracing::info!(todo = %todo.id, %why, "a todo is done");
        }
        recalled
    }

    /// A todo is done. A new owner tells of those that were done before it came.
    pub async fn keep(&self, todo: &Todo, result: &str, work: Option<&str>) {
        if let Some(run) = self.run.lock().await.as_mut() {
            self.learn(run, todo);
            run.recollection.keep(todo, result, work, self.settings.clock.now());
        }
    }

    /// The fleet has done what it can, or was stopped.
    pub async fn finish(&self, landing: Landing) {
        let Some(mut run) = self.run.lock().await.take() else { return };
        let census = self.census().await;
        run.recollection.finish(census, landing, self.settings.clock.now());
    }

    fn learn(&self, run: &mut Run, todo: &Todo) {
        let Settings { catalog, models, model_spec: model, effort, .. } = &self.settings;
        let staff = Staff { catalog, models: &**models, model, effort: *effort, usual: &self.usual };
        run.recollection.learn(todo, run.means.of(todo, staff));
    }

    async fn census(&self) -> Result<Census, CensusError> {
        let (cwd, apart) = (self.settings.cwd.clone(), self.apart.clone());
        let census = tokio::task::spawn_blocking(move || Census::take(&cwd, apart)).await;
        census.unwrap_or(Err(CensusError::Broken))
    }
}
