//! Drives a fleet: looks how things stand whenever something happened, and does what comes next.

use std::sync::Arc;

use futures_util::FutureExt;
use kernel::{Kernel, Refusal};
use protocol::{Budget, Envelope, Event, FleetEnd, Outcome, TaskId, TodoId};
use store::StoreError;
use tokio_util::sync::CancellationToken;

use super::bench::Bench;
use super::past::Past;
use super::steps::{Own, Seen, Step, next};
use super::{Aids, Ending, FleetOutcome, Halt, worker};
use crate::agent::Desk;
use crate::bus::{Live, Subscription};
use crate::recall::Landing;
use crate::supervisor::{Rejected, Supervisor};
use crate::todos::Untaken;

/// Drives one fleet in this process.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(super) bench: Arc<Bench>,
    events: Subscription,
    /// The last event before this process opened the session.
    first_seq: u64,
    pub(super) past: Past,
    pub(super) own: Own,
    /// Todos that were done since the last look.
    done: Vec<TodoId>,
    /// Whether the memory knows what is to be done.
    pub(super) remembers: bool,
    /// Where its work is, once it was brought together.
    pub(super) landing: Option<Landing>,
    /// How it ends, once it was told to.
    pub(super) outcome: Option<FleetOutcome>,
    closing: CancellationToken,
}

/// Why a driver cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Rejected(#[from] Rejected),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Broken {
    /// How the fleet ended, with the reason unless the session has just ended.
    fn outcome(self) -> FleetOutcome {
        tracing::info!(broken = %self, "the fleet stops");
        match self {
            Broken::Rejected(Rejected::Gone | Rejected::Refused(Refusal::Closed)) => FleetOutcome::Left,
            Broken::Rejected(Rejected::Paused(reason)) => FleetOutcome::Broken(reason.to_string()),
            other @ (Broken::Rejected(_) | Broken::Store(_)) => FleetOutcome::Broken(other.to_string()),
        }
    }
}

impl From<Untaken> for Broken {
    fn from(untaken: Untaken) -> Broken {
        match untaken {
            Untaken::Store(error) => error.into(),
            Untaken::Rejected(rejected) => rejected.into(),
        }
    }
}

/// Whether the fleet goes on.
pub(super) enum Flow {
    On,
    Ended(FleetOutcome),
}

impl Driver {
    pub(crate) fn new(
        desk: Arc<Desk>,
        supervisor: Supervisor,
        root: TaskId,
        first_seq: u64,
        aids: Aids,
        closing: CancellationToken,
    ) -> Result<Driver, StoreError> {
        // From the beginning: what the fleet did under other owners is in the log.
        let events = desk.bus.subscribe(0);
        let bench = Arc::new(Bench::new(desk, supervisor, root, aids)?);
        let own = Own { judged: false, halt: None };
        let (past, done) = (Past::default(), Vec::new());
        Ok(Driver {
            bench,
            events,
            first_seq,
            past,
            own,
            done,
            remembers: false,
            landing: None,
            outcome: None,
            closing,
        })
    }

    /// Drives the fleet to its end and says how it ended.
    pub(crate) async fn drive(mut self, ending: Ending) {
        let closing = self.closing.clone();
        let outcome = tokio::select! {
            biased;
            () = closing.cancelled() => FleetOutcome::Left,
            outcome = self.work() => outcome.unwrap_or_else(Broken::outcome),
        };
        ending.send_replace(Some(outcome));
    }

    async fn work(&mut self) -> Result<FleetOutcome, Broken> {
        loop {
            self.catch_up().await?;
            let seen = self.look().await?;
            let Some(terms) = seen.terms.clone() else { return Ok(self.over().await) };
            if self.past.closed {
                return Ok(FleetOutcome::Left);
            }
            if self.own.halt.is_none() && self.bench.desk.deadline.is_over() {
                self.own.halt = Some(Halt::Time);
            }
            let flow = match next(seen, &self.past, self.own) {
                Step::Wait => self.wait().await?,
                Step::Plan => self.plan(&terms).await?,
                Step::Judge => self.judge(&terms).await?,
                Step::Dispatch(due) => {
                    self.bench.dispatch(&terms, &self.past, due).await?;
                    // What was refused because things have changed would be refused again until that is durable.
                    self.wait().await?
                }
                Step::Review => self.review(&terms).await?,
                Step::Finish => self.finish(&terms).await?,
                Step::Halt(halt) => self.end(FleetEnd::Stopped, FleetOutcome::Halted(halt)).await?,
                Step::Over => Flow::On,
            };
            if let Flow::Ended(outcome) = flow {
                return Ok(outcome);
            }
        }
    }

    async fn look(&self) -> Result<Seen, Rejected> {
        let root = self.bench.root;
        let look = move |kernel: &Kernel| {
            let usual = kernel.graph().fleet().map(worker::usual).unwrap_or_default().to_owned();
            Seen::look(kernel, root, &usual)
        };
        self.bench.supervisor.look(look).await
    }

    /// Waits until something happened that may change what comes next.
    async fn wait(&mut self) -> Result<Flow, Broken> {
        loop {
            match self.events.next().await? {
                Some(Live::Event(envelope)) => {
                    self.hear(&envelope);
                    if matters(&envelope.entry.event) {
                        return Ok(Flow::On);
                    }
                }
                Some(Live::Text { .. }) => {}
                None => return Ok(Flow::Ended(FleetOutcome::Left)),
            }
        }
    }

    /// Hears everything that has happened so far.
    pub(super) async fn catch_up(&mut self) -> Result<(), Broken> {
        while let Some(live) = self.events.next().now_or_never() {
            match live? {
                Some(Live::Event(envelope)) => self.hear(&envelope),
                Some(Live::Text { .. }) => {}
                None => break,
            }
        }
        // Until the memory knows what is to be done, what was done is only noted.
        if !self.remembers {
            self.done.clear();
        }
        for todo in std::mem::take(&mut self.done) {
            if let Some(row) = self.bench.row(&todo)? {
                self.keep(&row).await;
            }
        }
        Ok(())
    }

    fn hear(&mut self, envelope: &Envelope) {
        self.past.read(envelope, self.bench.root);
        match &envelope.entry.event {
            Event::TodoDone { todo, fence: None, brought: Some(brought) } => self.bench.reuse(todo, brought.clone()),
            Event::TodoClaimed { todo, .. } => self.bench.redo(todo),
            _other => {}
        }
        if envelope.seq <= self.first_seq {
            return;
        }
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::TodoDone { todo, fence: Some(_), .. } => self.done.push(todo.clone()),
            Event::ActivationEnded { outcome: Outcome::BudgetExhausted, .. } if self.is_out_of_budget(task) => {
                self.own.halt = Some(Halt::Budget);
            }
            _other => {}
        }
    }

    /// Whether a worker that had spent what it may had no budget of its own, but the session's.
    fn is_out_of_budget(&self, task: TaskId) -> bool {
        let of_session = |known: &crate::roster::Known| {
            known.spec.todo.is_some() && known.spec.budget == Budget::default() || known.depth == 0
        };
        self.bench.desk.roster.known(task, of_session).unwrap_or_default()
    }
}

/// Whether an event may change what comes next: todos move, somebody rests, or there is room for one more.
fn matters(event: &Event) -> bool {
    matches!(
        event,
        Event::TodosChanged { .. }
            | Event::TodoReturned { .. }
            | Event::TodoDone { .. }
            | Event::TodoBlocked { .. }
            | Event::TodoFreed { .. }
            | Event::FleetEnded { .. }
            | Event::ActivationEnded { .. }
            | Event::TaskFinished { .. }
            | Event::TaskParked { .. }
            | Event::WaitBegan { .. }
            | Event::Asked(_)
            | Event::AdmissionOpened
            | Event::AdmissionClosed
    )
}
