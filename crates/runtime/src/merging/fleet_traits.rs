//! Implements the fleet's services with the merger.

use protocol::{FleetConfig, Isolation, Todo};
use tools::BoxFuture;

use super::merger::FleetMerger;
use crate::fleet::{CollectedWork, Collector, FinishedTodo, WorkspaceProvider};
use crate::result_cache::WorkLocation;

impl WorkspaceProvider for FleetMerger {
    fn workspace_for<'a>(
        &'a self,
        terms: &'a FleetConfig,
        todo: &'a Todo,
    ) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        Box::pin(FleetMerger::isolation_for(self, terms, todo))
    }
}

impl Collector for FleetMerger {
    fn collect<'a>(&'a self, terms: &'a FleetConfig, done: &'a [FinishedTodo]) -> BoxFuture<'a, CollectedWork> {
        Box::pin(async move {
            if !terms.isolated {
                return CollectedWork::in_place();
            }
            match FleetMerger::collect(self, terms, done).await {
                Ok(summary) => {
                    CollectedWork { landing: summary.destination.work_location(), missing: summary.not_merged() }
                }
                // Which work is in the result is unknown, so none counts as merged.
                Err(why) => {
                    let why = format!("it was not merged: {why}");
                    let missing = done.iter().map(|done| (done.todo.id.clone(), why.clone())).collect();
                    CollectedWork { landing: WorkLocation::InCommits, missing }
                }
            }
        })
    }
}
