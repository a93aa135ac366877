//! Implements the fleet's services with the merger.

use protocol::{FleetConfig, Isolation, Todo};
use tools::BoxFuture;

use super::merger::FleetMerger;
use crate::fleet::{CollectedWork, Collector, FinishedTodo, WorkspaceProvider};
use crate::result_cache::WorkLocation;

impl WorkspaceProvider for FleetMerger {
    fn workspace_for<'a>(
        &'a self,
        config: &'a FleetConfig,
        todo: &'a Todo,
    ) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        Box::pin(FleetMerger::isolation_for(self, config, todo))
    }
}

impl Collector for FleetMerger {
    fn collect<'a>(&'a self, config: &'a FleetConfig, done: &'a [FinishedTodo]) -> BoxFuture<'a, CollectedWork> {
        Box::pin(async move {
            if !config.isolated {
                return CollectedWork::in_place();
            }
            match FleetMerger::collect(self, config, done).await {
                Ok(summary) => {
                    CollectedWork { location: summary.destination.work_location(), missing: summary.not_merged() }
                }
                // Which work is in the result is unknown, so none counts as merged.
                Err(why) => {
                    let why = format!("it was not merged: {why}");
                    let missing = done.iter().map(|done| (done.todo.id.clone(), why.clone())).collect();
                    CollectedWork { location: WorkLocation::InCommits, missing }
                }
            }
        })
    }
}
