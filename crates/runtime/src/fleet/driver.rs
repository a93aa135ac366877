//! Drives a fleet: looks how things stand whenever something happened, and does what comes next.

use std::sync::Arc;

use futures_util::FutureExt;
use kernel::{InputRefusal, Kernel};
use protocol::{Budget, Envelope, Event, FleetEnd, TaskId, TaskOutcome, TodoId};
use store::StoreError;
use tokio_util::sync::CancellationToken;

use super::context::FleetContext;
use super::history::PastFleet;
use super::steps::{DriverState, FleetSnapshot, FleetStep, next_step};
use super::{FleetLimit, FleetOutcome, FleetOutcomeSender, FleetServices, worker};
use crate::agent::SessionContext;
use crate::bus::{BusMessage, Subscription};
use crate::result_cache::WorkLocation;
use crate::supervisor::{InputRejection, Supervisor};
use crate::todos::TodoSyncError;

/// Drives one fleet in this process.
#[derive(Debug)]
pub(crate) struct FleetDriver {
    pub(super) fleet: Arc<FleetContext>,
    events: Subscription,
    /// The last event before this process opened the session.
    first_seq: u64,
    pub(super) history: PastFleet,
    pub(super) state: DriverState,
    /// Todos that were done since the last look.
    done: Vec<TodoId>,
    /// Whether the memory knows what is to be done.
    pub(super) cache_seeded: bool,
    /// Where its work is, once it was brought together.
    pub(super) landing: Option<WorkLocation>,
    /// How it ends, once it was told to.
    pub(super) outcome: Option<FleetOutcome>,
    closing: CancellationToken,
}

/// Why a driver cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum FleetDriverError {
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
    fn from(untaken: TodoSyncError) -> FleetDriverError {
        match untaken {
            TodoSyncError::Store(error) => error.into(),
            TodoSyncError::Rejected(rejected) => rejected.into(),
        }
    }
}

/// Whether the fleet goes on.
pub(super) enum DriverFlow {
    Continue,
    Ended(FleetOutcome),
}

impl FleetDriver {
    pub(crate) fn new(
        context: Arc<SessionContext>,
        supervisor: Supervisor,
        root: TaskId,
        first_seq: u64,
        aids: FleetServices,
        closing: CancellationToken,
    ) -> Result<FleetDriver, StoreError> {
        // From the beginning: what the fleet did under other owners is in the log.
        let events = context.bus.subscribe(0);
        let bench = Arc::new(FleetContext::new(context, supervisor, root, aids)?);
        let own = DriverState { plan_judged: false, limit: None };
        let (past, done) = (PastFleet::default(), Vec::new());
        Ok(FleetDriver {
            fleet: bench,
            events,
            first_seq,
            history: past,
            state: own,
            done,
            cache_seeded: false,
            landing: None,
            outcome: None,
            closing,
        })
    }

    /// Drives the fleet to its end and says how it ended.
    pub(crate) async fn drive(mut self, ending: FleetOutcomeSender) {
        let closing = self.closing.clone();
        let outcome = tokio::select! {
            biased;
            () = closing.cancelled() => FleetOutcome::SessionEnded,
            outcome = self.run_steps() => outcome.unwrap_or_else(FleetDriverError::outcome),
        };
        ending.send_replace(Some(outcome));
    }

    async fn run_steps(&mut self) -> Result<FleetOutcome, FleetDriverError> {
        loop {
            self.catch_up().await?;
            let seen = self.take_snapshot().await?;
            let Some(terms) = seen.terms.clone() else { return Ok(self.conclude().await) };
            if self.history.closed {
                return Ok(FleetOutcome::SessionEnded);
            }
            if self.state.limit.is_none() && self.fleet.context.deadline.is_over() {
                self.state.limit = Some(FleetLimit::Time);
            }
            let flow = match next_step(seen, &self.history, self.state) {
                FleetStep::Wait => self.wait().await?,
                FleetStep::Plan => self.request_plan(&terms).await?,
                FleetStep::Judge => self.review_plan(&terms).await?,
                FleetStep::Dispatch(due) => {
                    self.fleet.dispatch(&terms, &self.history, due).await?;
                    // What was refused because things have changed would be refused again until that is durable.
                    self.wait().await?
                }
                FleetStep::Review => self.request_review(&terms).await?,
                FleetStep::Finish => self.finish(&terms).await?,
                FleetStep::Halt(halt) => self.end(FleetEnd::Stopped, FleetOutcome::Halted(halt)).await?,
                FleetStep::Over => DriverFlow::Continue,
            };
            if let DriverFlow::Ended(outcome) = flow {
                return Ok(outcome);
            }
        }
    }

    async fn take_snapshot(&self) -> Result<FleetSnapshot, InputRejection> {
        let root = self.fleet.root;
        let look = move |kernel: &Kernel| {
            let usual = kernel.graph().fleet().map(worker::default_agent).unwrap_or_default().to_owned();
            FleetSnapshot::take(kernel, root, &usual)
        };
        self.fleet.supervisor.query(look).await
    }

    /// Waits until something happened that may change what comes next.
    async fn wait(&mut self) -> Result<DriverFlow, FleetDriverError> {
        loop {
            match self.events.next().await? {
                Some(BusMessage::Event(envelope)) => {
                    self.apply_event(&envelope);
                    if may_change_next_step(&envelope.entry.event) {
                        return Ok(DriverFlow::Continue);
                    }
                }
                Some(BusMessage::Text { .. }) => {}
                None => return Ok(DriverFlow::Ended(FleetOutcome::SessionEnded)),
            }
        }
    }

    /// Hears everything that has happened so far.
    pub(super) async fn catch_up(&mut self) -> Result<(), FleetDriverError> {
        while let Some(live) = self.events.next().now_or_never() {
            match live? {
                Some(BusMessage::Event(envelope)) => self.apply_event(&envelope),
                Some(BusMessage::Text { .. }) => {}
                None => break,
            }
        }
        // Until the memory knows what is to be done, what was done is only noted.
        if !self.cache_seeded {
            self.done.clear();
        }
        for todo in std::mem::take(&mut self.done) {
            if let Some(row) = self.fleet.row(&todo)? {
                self.store_result(&row).await;
            }
        }
        Ok(())
    }

    fn apply_event(&mut self, envelope: &Envelope) {
        self.history.read(envelope, self.fleet.root);
        match &envelope.entry.event {
            Event::TodoDone { todo, fence: None, reused: Some(brought) } => self.fleet.reuse(todo, brought.clone()),
            Event::TodoClaimed { todo, .. } => self.fleet.discard_reuse(todo),
            _other => {}
        }
        if envelope.seq <= self.first_seq {
            return;
        }
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::TodoDone { todo, fence: Some(_), .. } => self.done.push(todo.clone()),
            Event::ActivationEnded { outcome: TaskOutcome::BudgetExhausted, .. } if self.is_out_of_budget(task) => {
                self.state.limit = Some(FleetLimit::Budget);
            }
            _other => {}
        }
    }

    /// Whether a worker that had spent what it may had no budget of its own, but the session's.
    fn is_out_of_budget(&self, task: TaskId) -> bool {
        let of_session = |known: &crate::roster::RosterEntry| {
            known.spec.todo.is_some() && known.spec.budget == Budget::default() || known.depth == 0
        };
        self.fleet.context.roster.with_task(task, of_session).unwrap_or_default()
    }
}

/// Whether an event may change what comes next: todos move, somebody rests, or there is room for one more.
fn may_change_next_step(event: &Event) -> bool {
    matches!(
        event,
        Event::TodosChanged { .. }
            | Event::TodoReturned { .. }
            | Event::TodoDone { .. }
            | Event::TodoBlocked { .. }
            | Event::TodoUnblocked { .. }
            | Event::FleetEnded { .. }
            | Event::ActivationEnded { .. }
            | Event::TaskFinished { .. }
            | Event::TaskParked { .. }
            | Event::WaitBegan { .. }
            | Event::AskOpened(_)
            | Event::AdmissionOpened
            | Event::AdmissionClosed
    )
}
