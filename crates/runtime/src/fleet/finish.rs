//! A fleet ends: its work is brought together, and what was done is kept.

use kernel::{Input, Refusal};
use protocol::{Brought, FleetEnd, FleetTerms, TodoStatus};
use store::TodoRow;

use super::driver::{Broken, Driver, Flow};
use super::steps::Stock;
use super::{Done, FleetOutcome, Harvested};
use crate::recall::Landing;
use crate::supervisor::Rejected;

impl Driver {
    pub(super) async fn finish(&mut self, terms: &FleetTerms) -> Result<Flow, Broken> {
        // The look that led here may be ahead of what was heard.
        self.catch_up().await?;
        if self.unstick().await? {
            return Ok(Flow::On);
        }
        let rows = self.bench.rows()?.into_iter().filter(|row| row.todo.status == TodoStatus::Done);
        let done: Vec<Done> = rows.map(|row| Done { work: self.work_of(&row), todo: row.todo }).collect();
        let Harvested { landing, short } = self.bench.aids.harvest.gather(terms, &done).await;
        self.landing = Some(landing);
        for (todo, reason) in short {
            self.bench.block(todo, reason).await?;
        }
        let open = self.bench.supervisor.look(|kernel| Stock::take(kernel).open).await?;
        let end = if open == 0 { FleetEnd::Done } else { FleetEnd::Blocked };
        let outcome = match self.own.halt.filter(|_| open > 0) {
            Some(halt) => FleetOutcome::Halted(halt),
            None => FleetOutcome::Ended(end),
        };
        self.end(end, outcome).await
    }

    /// Blocks what could never be ready; tells whether there was any.
    pub(super) async fn unstick(&self) -> Result<bool, Rejected> {
        let stuck = self.bench.supervisor.look(|kernel| Stock::take(kernel).stuck).await?;
        let any = !stuck.is_empty();
        for (todo, reason) in stuck {
            self.bench.block(todo, reason).await?;
        }
        Ok(any)
    }

    /// Ends the fleet, unless somebody else did.
    pub(super) async fn end(&mut self, end: FleetEnd, outcome: FleetOutcome) -> Result<Flow, Broken> {
        match self.bench.supervisor.submit(Input::EndFleet(end)).await {
            // The next look finds it ended.
            Ok(_receipt) => {
                self.outcome = Some(outcome);
                Ok(Flow::On)
            }
            Err(Rejected::Refused(Refusal::NoFleet)) => Ok(Flow::On),
            Err(rejected) => Err(rejected.into()),
        }
    }

    /// The fleet is ended, by this driver or by somebody else.
    pub(super) async fn over(&mut self) -> FleetOutcome {
        let usual = if self.past.isolated { Landing::Apart } else { Landing::InPlace };
        self.bench.aids.memory.finish(self.landing.unwrap_or(usual)).await;
        self.outcome.take().unwrap_or(FleetOutcome::Ended(self.past.ended.unwrap_or(FleetEnd::Stopped)))
    }

    pub(super) async fn keep(&self, row: &TodoRow) {
        let brought = Brought { result: self.bench.said(row).unwrap_or_default(), work: self.work_of(row) };
        self.bench.aids.memory.keep(&row.todo, &brought).await;
    }

    /// The commit that holds the work of a todo.
    fn work_of(&self, row: &TodoRow) -> Option<String> {
        let sealed = || self.past.sealed.get(&row.task.as_deref()?.parse().ok()?).cloned();
        self.bench.recalled(&row.todo.id).map_or_else(sealed, |brought| brought.work)
    }
}
