//! Which todos of a plan would not be done again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::FleetPlan;
use host::Home;
use protocol::TodoId;
use runtime::{Assignment, AssignmentContext, CacheLookup, RunResultCache, TreeSnapshot, excluded_paths};
use store::FleetResultStore;

use crate::error::CliError;

/// The agent of todos that name none.
const DEFAULT_AGENT: &str = "general-purpose";

/// Who would do the plan, in which folder.
pub(super) struct ReusePredictor<'a> {
    pub(super) home: &'a Home,
    pub(super) cwd: PathBuf,
    pub(super) staff: AssignmentContext<'a>,
}

impl<'a> ReusePredictor<'a> {
    pub(super) fn new(
        home: &'a Home,
        cwd: &Path,
        staffing: &'a crate::setup::FolderAgents,
        model: &'a str,
    ) -> ReusePredictor<'a> {
        let crate::setup::FolderAgents { catalog, models, effort, .. } = staffing;
        let staff =
            AssignmentContext { catalog, models: &**models, model, effort: *effort, default_agent: DEFAULT_AGENT };
        ReusePredictor { home, cwd: cwd.to_owned(), staff }
    }

    /// What a run that began now would recall. Commits with work are taken to be there.
    pub(super) async fn predict(&self, plan: &FleetPlan) -> Result<BTreeMap<TodoId, CacheLookup>, CliError> {
        let (cwd, apart) = (self.cwd.clone(), excluded_paths(self.home, Some(&plan.file)));
        let snapshot =
            tokio::task::spawn_blocking(move || TreeSnapshot::capture(&cwd, apart)).await.map_err(CliError::failed)?;
        let results = FleetResultStore::open(self.home, self.cwd.to_string_lossy())?;
        let mut recollection = RunResultCache::begin(results, snapshot);
        plan.todos.iter().for_each(|todo| recollection.register(todo, &Assignment::of(todo, self.staff)));
        Ok(recollection.predict(&plan.todos, |_commit| true))
    }
}
