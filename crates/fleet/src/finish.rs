//! Ends a fleet: collects its work and stores its results.

use kernel::{InputRefusal, KernelInput};
use protocol::{FleetConfig, FleetEnd, ReusedResult, TodoStatus};
use runtime::{FleetOutcome, InputRejection};
use store::TodoRow;

use crate::driver::{FleetDriver, FleetDriverError};
use crate::result_cache::WorkLocation;
use crate::services::{CollectedWork, FinishedTodo};
use crate::steps::OpenTodos;

impl FleetDriver {
    pub(crate) async fn finish(&mut self, config: &FleetConfig) -> Result<(), FleetDriverError> {
        // The snapshot that led here may be ahead of the applied events.
        self.catch_up().await?;
        if self.block_stuck_todos().await? {
            return Ok(());
        }
        let rows = self.fleet.todo_rows()?.into_iter().filter(|row| row.todo.status == TodoStatus::Done);
        let done: Vec<FinishedTodo> =
            rows.map(|row| FinishedTodo { commit: self.work_of(&row), todo: row.todo }).collect();
        let CollectedWork { location, missing, summary } = self.fleet.services.collect(config, &done).await;
        self.work_location = Some(location);
        if let Some(summary) = summary {
            self.fleet.session.submit(KernelInput::MergeFleet(Box::new(summary.clipped()))).await?;
        }
        for (todo, reason) in missing {
            self.fleet.block(todo, reason).await?;
        }
        let open = self.fleet.session.query(|kernel| OpenTodos::find(kernel).open).await?;
        let end = if open == 0 { FleetEnd::Done } else { FleetEnd::Blocked };
        let outcome = match self.state.limit.filter(|_| open > 0) {
            Some(limit) => FleetOutcome::Halted(limit),
            None => FleetOutcome::Ended(end),
        };
        self.end(end, outcome).await
    }

    /// Blocks todos that can never be ready; returns whether there were any.
    pub(crate) async fn block_stuck_todos(&self) -> Result<bool, InputRejection> {
        let stuck = self.fleet.session.query(|kernel| OpenTodos::find(kernel).stuck).await?;
        let any_stuck = !stuck.is_empty();
        for (todo, reason) in stuck {
            self.fleet.block(todo, reason).await?;
        }
        Ok(any_stuck)
    }

    /// Ends the fleet, unless it has already been ended.
    pub(crate) async fn end(&mut self, end: FleetEnd, outcome: FleetOutcome) -> Result<(), FleetDriverError> {
        let why = outcome.stop_reason();
        match self.fleet.session.submit(KernelInput::EndFleet { end, why }).await {
            // The next snapshot shows that the fleet has ended.
            Ok(()) => {
                self.outcome = Some(outcome);
                Ok(())
            }
            Err(InputRejection::Refused(InputRefusal::NoFleet)) => Ok(()),
            Err(rejected) => Err(rejected.into()),
        }
    }

    /// Concludes a fleet that this driver or the user has ended.
    pub(crate) async fn conclude(&mut self) -> FleetOutcome {
        let default = if self.history.isolated { WorkLocation::InCommits } else { WorkLocation::InWorkspace };
        self.fleet.services.finish(self.work_location.unwrap_or(default)).await;
        self.outcome.take().unwrap_or(FleetOutcome::Ended(self.history.ended.unwrap_or(FleetEnd::Stopped)))
    }

    pub(crate) async fn store_result(&self, row: &TodoRow) {
        let result =
            ReusedResult { result: self.fleet.latest_result(row).unwrap_or_default(), commit: self.work_of(row) };
        self.fleet.services.store(&row.todo, &result).await;
    }

    /// The commit that holds the work of a todo.
    fn work_of(&self, row: &TodoRow) -> Option<String> {
        let sealed = || self.history.sealed_commits.get(&row.task.as_deref()?.parse().ok()?).cloned();
        self.fleet.reused_result(&row.todo.id).map_or_else(sealed, |reused| reused.commit)
    }
}
