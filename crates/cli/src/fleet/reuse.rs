//! Predicts which todos of a plan would reuse an earlier result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::FleetPlan;
use fleet::{Assignment, AssignmentContext, CacheLookup, RunResultCache, TreeSnapshot, excluded_paths};
use host::Home;
use protocol::{DEFAULT_AGENT, TodoId};

use crate::error::CliError;

/// The agents and the folder that the prediction is made for.
pub(super) struct ReusePredictor<'a> {
    pub(super) home: &'a Home,
    pub(super) cwd: PathBuf,
    pub(super) assignment_context: AssignmentContext<'a>,
}

impl<'a> ReusePredictor<'a> {
    pub(super) fn new(
        home: &'a Home,
        cwd: &Path,
        agents: &'a config::FolderAgents,
        model: &'a str,
    ) -> ReusePredictor<'a> {
        let config::FolderAgents { catalog, models, effort, .. } = agents;
        let assignment_context =
            AssignmentContext { catalog, models: &**models, model, effort: *effort, default_agent: DEFAULT_AGENT };
        ReusePredictor { home, cwd: cwd.to_owned(), assignment_context }
    }

    /// Predicts what a run started now would reuse. Assumes that commits with work still exist.
    pub(super) async fn predict(&self, plan: &FleetPlan) -> Result<BTreeMap<TodoId, CacheLookup>, CliError> {
        let (cwd, excluded) = (self.cwd.clone(), excluded_paths(self.home, Some(&plan.file)));
        let snapshot = tokio::task::spawn_blocking(move || TreeSnapshot::capture(&cwd, excluded))
            .await
            .map_err(CliError::failed)?;
        let mut cache = RunResultCache::open(self.home, self.cwd.to_string_lossy(), snapshot)?;
        plan.todos.iter().for_each(|todo| cache.register(todo, &Assignment::for_todo(todo, self.assignment_context)));
        Ok(cache.predict(&plan.todos, |_commit| true))
    }
}
