//! Drives a fleet: after every relevant event it takes a snapshot of the state and performs the next step.

use std::sync::Arc;

use futures_util::FutureExt;
use kernel::{InputRefusal, Kernel, ReaderWait};
use protocol::{Envelope, Event, FleetEnd, TaskOutcome, TodoId};
use runtime::{BusMessage, FleetLimit, FleetOutcome, FleetSession, InputRejection, Subscription, TodoSyncError};
use store::StoreError;
use tokio::sync::watch;

use crate::context::FleetContext;
use crate::history::FleetRecord;
use crate::result_cache::WorkLocation;
use crate::services::FleetServices;
use crate::steps::{DriverState, FleetSnapshot, FleetStep, next_step};
use crate::worker;

/// Drives one fleet in this process.
#[derive(Debug)]
pub(crate) struct FleetDriver {
    pub(crate) fleet: Arc<FleetContext>,
    events: Subscription,
    /// The count of fleet changes up to which the driver has certainly applied the events.
    seen_changes: u64,
    pub(crate) history: FleetRecord,
    pub(crate) state: DriverState,
    /// Todos that were done since the last catch-up.
    newly_done: Vec<TodoId>,
    /// Whether the result cache knows the todos.
    pub(crate) cache_seeded: bool,
    /// Where the fleet's work is, once it has been collected.
    pub(crate) work_location: Option<WorkLocation>,
    /// The fleet's outcome, once this driver has requested its end.
    pub(crate) outcome: Option<FleetOutcome>,
}

/// Why a driver cannot continue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetDriverError {
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl FleetDriverError {
    /// How the fleet ended, with the reason unless the session has just ended.
    fn outcome(self) -> FleetOutcome {
        tracing::info!(broken = %self, "the fleet stops");
        match self {
            FleetDriverError::Rejected(
                InputRejection::SessionEnded | InputRejection::Refused(InputRefusal::Closed),
            ) => FleetOutcome::SessionEnded,
            FleetDriverError::Rejected(InputRejection::Paused(reason)) => FleetOutcome::Broken(reason.to_string()),
            other @ (FleetDriverError::Rejected(_) | FleetDriverError::Store(_)) => {
                FleetOutcome::Broken(other.to_string())
            }
        }
    }
}

impl From<TodoSyncError> for FleetDriverError {
    fn from(error: TodoSyncError) -> FleetDriverError {
        match error {
            TodoSyncError::Store(error) => error.into(),
            TodoSyncError::Rejected(rejected) => rejected.into(),
        }
    }
}

impl FleetDriver {
    pub(crate) fn new(session: FleetSession, services: FleetServices) -> Result<FleetDriver, StoreError> {
        // Reads from the beginning: the log holds the fleet's progress under earlier owner processes.
        let events = session.events();
        Ok(FleetDriver {
            fleet: Arc::new(FleetContext::new(session, services)?),
            events,
            seen_changes: 0,
            history: FleetRecord::default(),
            state: DriverState { plan_checked: false, limit: None },
            newly_done: Vec::new(),
            cache_seeded: false,
            work_location: None,
            outcome: None,
        })
    }

    /// Drives the fleet to its end and sends its outcome.
    pub(crate) async fn drive(mut self, outcome_sender: watch::Sender<Option<FleetOutcome>>) {
        let closing = self.fleet.session.closing().clone();
        let outcome = tokio::select! {
            biased;
            () = closing.cancelled() => FleetOutcome::SessionEnded,
            outcome = self.run_steps() => outcome.unwrap_or_else(FleetDriverError::outcome),
        };
        outcome_sender.send_replace(Some(outcome));
    }

    async fn run_steps(&mut self) -> Result<FleetOutcome, FleetDriverError> {
        loop {
            self.catch_up().await?;
            let snapshot = self.take_snapshot().await?;
            let Some(config) = snapshot.config.clone() else { return Ok(self.conclude().await) };
            if self.history.closed {
                return Ok(FleetOutcome::SessionEnded);
            }
            if self.state.limit.is_none() && self.fleet.session.is_time_over() {
                self.state.limit = Some(FleetLimit::Time);
            }
            match next_step(snapshot, &self.history, self.state) {
                FleetStep::Wait => self.wait().await?,
                FleetStep::Plan => self.request_plan(&config).await?,
                FleetStep::CheckPlan => self.review_plan(&config).await?,
                FleetStep::Dispatch(due) => {
                    self.fleet.dispatch(&config, &self.history, due).await?;
                    // If a change caused a refusal, the todo would be refused again until that change is durable.
                    self.wait().await?
                }
                FleetStep::Review => self.request_review(&config).await?,
                FleetStep::Finish => self.finish(&config).await?,
                FleetStep::Halt(limit) => self.end(FleetEnd::Stopped, FleetOutcome::Halted(limit)).await?,
                FleetStep::Ended => {}
            }
        }
    }

    async fn take_snapshot(&self) -> Result<FleetSnapshot, InputRejection> {
        let root = self.fleet.session.root();
        let root_was_stopped = matches!(self.fleet.session.last_outcome(), Some(TaskOutcome::Cancelled { .. }));
        let take = move |kernel: &Kernel| {
            let default_agent = kernel.graph().fleet().map(worker::default_agent).unwrap_or_default().to_owned();
            FleetSnapshot::take(kernel, root, root_was_stopped, &default_agent)
        };
        self.fleet.session.query(take).await
    }

    /// Waits until the next step may be another one. The events that change it are on the bus by then, so that the next
    /// catch-up applies them.
    async fn wait(&mut self) -> Result<(), FleetDriverError> {
        let session = &self.fleet.session;
        session.wait_for(ReaderWait::FleetChange { after: self.seen_changes }).await?;
        self.seen_changes = session.query(Kernel::fleet_changes).await?;
        Ok(())
    }

    /// Applies all events that have happened so far.
    pub(crate) async fn catch_up(&mut self) -> Result<(), FleetDriverError> {
        while let Some(message) = self.events.next().now_or_never() {
            match message? {
                Some(BusMessage::Event(envelope)) => self.apply_event(&envelope),
                Some(BusMessage::Text { .. }) => {}
                None => break,
            }
        }
        // The result cache cannot store results until it knows the todos.
        if !self.cache_seeded {
            self.newly_done.clear();
        }
        for todo in std::mem::take(&mut self.newly_done) {
            if let Some(row) = self.fleet.todo_row(&todo)? {
                self.store_result(&row).await;
            }
        }
        Ok(())
    }

    fn apply_event(&mut self, envelope: &Envelope) {
        self.history.apply_event(envelope, self.fleet.session.root());
        match &envelope.entry.event {
            Event::TodoDone { todo, fence: None, reused: Some(result) } => {
                self.fleet.record_reuse(todo, result.clone())
            }
            Event::TodoClaimed { todo, .. } => self.fleet.discard_reuse(todo),
            _other => {}
        }
        if envelope.seq <= self.fleet.session.first_seq() {
            return;
        }
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::TodoDone { todo, fence: Some(_), .. } => self.newly_done.push(todo.clone()),
            Event::ActivationEnded { outcome: TaskOutcome::BudgetExhausted, .. }
                if self.fleet.session.uses_session_budget(task) =>
            {
                self.state.limit = Some(FleetLimit::Budget);
            }
            _other => {}
        }
    }
}
