//! What a fleet remembers, as its driver asks for it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use protocol::{Todo, TodoId};
use store::Results;
use tokio::sync::Mutex;

use super::census::{Census, CensusError};
use super::means::{AllMeans, Staff};
use super::recollection::{Landing, Recalled, Recollection};
use super::why::Why;
use super::works::Works;
use crate::settings::Settings;

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
    /// Why todos are done again, until somebody asks.
    again: std::sync::Mutex<BTreeMap<TodoId, Why>>,
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
        FleetMemory { settings, usual, apart, works, run: Mutex::new(None), again: std::sync::Mutex::default() }
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
            Some(commit) => self.works.hold(&commit, &run.recollection.works_above(todo)).await,
            None => false,
        };
        let recalled = run.recollection.recall(todo, |_commit| is_there);
        if let Recalled::Again(why) = &recalled {
            tracing::info!(todo = %todo.id, %why, "a todo is done");
            self.again.lock().unwrap_or_else(PoisonError::into_inner).insert(todo.id.clone(), why.clone());
        }
        recalled
    }

    /// Why a todo is done again that was done before; told once.
    pub fn why(&self, todo: &TodoId) -> Option<Why> {
        let why = self.again.lock().unwrap_or_else(PoisonError::into_inner).remove(todo);
        why.filter(|why| !matches!(why, Why::Never | Why::Fresh))
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
