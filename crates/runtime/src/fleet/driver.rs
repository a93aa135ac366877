//! Drives a fleet: looks how things stand whenever something happened, and does what comes next.

use std::sync::Arc;

use futures_util::FutureExt;
use kernel::{Input, Kernel, Letter, Refusal};
use protocol::api::{Command, SendParams};
use protocol::{
    Body, Budget, Delivery, Envelope, Event, FleetEnd, FleetTerms, Origin, Outcome, TaskId, Todo, TodoId, TodoStatus,
};
use store::{StoreError, TodoRow};
use tokio_util::sync::CancellationToken;

use super::bench::Bench;
use super::past::Past;
use super::steps::{Own, Seen, Step, Stock, next};
use super::{Aids, Done, Ending, FleetOutcome, Halt, Harvested, Recall, judge, words, worker};
use crate::agent::Desk;
use crate::bus::{Live, Subscription};
use crate::recall::Landing;
use crate::supervisor::{Rejected, Supervisor};
use crate::todos::Untaken;
use crate::{commands, hooks};

/// How often the main agent may mend one plan.
const MENDS: u32 = 2;

/// Drives one fleet in this process.
#[derive(Debug)]
pub(crate) struct Driver {
    bench: Arc<Bench>,
    events: Subscription,
    /// The last event before this process opened the session.
    first_seq: u64,
    past: Past,
    own: Own,
    /// Todos that were done since the last look.
    done: Vec<TodoId>,
    /// Whether the memory knows what is to be done.
    remembers: bool,
    /// How it ends, once it was told to.
    outcome: Option<FleetOutcome>,
    closing: CancellationToken,
}

/// Why a driver cannot go on.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Rejected(#[from] Rejected),
    #[error(transparent)]
    Store(#[from] StoreError),
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
enum Flow {
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
        Ok(Driver { bench, events, first_seq, past, own, done, remembers: false, outcome: None, closing })
    }

    /// Drives the fleet to its end and says how it ended.
    pub(crate) async fn drive(mut self, ending: Ending) {
        let closing = self.closing.clone();
        let outcome = tokio::select! {
            biased;
            () = closing.cancelled() => FleetOutcome::Left,
            outcome = self.work() => outcome.unwrap_or_else(|broken| {
                tracing::info!(%broken, "the fleet stops");
                FleetOutcome::Left
            }),
        };
        ending.send_replace(Some(outcome));
    }

    async fn work(&mut self) -> Result<FleetOutcome, Broken> {
        loop {
            self.catch_up().await?;
            let seen = self.look().await?;
            let Some(terms) = seen.terms.clone() else { return Ok(self.over().await) };
            if self.own.halt.is_none() && self.bench.desk.deadline.is_over() {
                self.own.halt = Some(Halt::Time);
            }
            let flow = match next(seen, &self.past, self.own) {
                Step::Wait => self.wait().await?,
                Step::Plan => self.plan(&terms).await?,
                Step::Judge => self.judge(&terms).await?,
                Step::Dispatch(due) => {
                    self.bench.dispatch(&terms, due).await?;
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

    /// The fleet is ended, by this driver or by somebody else.
    async fn over(&mut self) -> FleetOutcome {
        let apart = self.past.isolated && !(self.past.merge && self.past.ended == Some(FleetEnd::Done));
        self.bench.aids.memory.finish(if apart { Landing::Apart } else { Landing::InPlace }).await;
        self.outcome.take().unwrap_or(FleetOutcome::Ended(self.past.ended.unwrap_or(FleetEnd::Stopped)))
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
    async fn catch_up(&mut self) -> Result<(), Broken> {
        while let Some(live) = self.events.next().now_or_never() {
            match live? {
                Some(Live::Event(envelope)) => self.hear(&envelope),
                Some(Live::Text { .. }) => {}
                None => break,
            }
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
        if envelope.seq <= self.first_seq {
            return;
        }
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::TodoDone { todo, fence: Some(_) } => self.done.push(todo.clone()),
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

    async fn keep(&self, row: &TodoRow) {
        let brought = Recall { result: self.bench.said(row).unwrap_or_default(), work: self.work_of(row) };
        self.bench.aids.memory.keep(&row.todo, &brought).await;
    }

    /// The commit that holds the work of a todo.
    fn work_of(&self, row: &TodoRow) -> Option<String> {
        let sealed = || self.past.sealed.get(&row.task.as_deref()?.parse().ok()?).cloned();
        self.bench.recalled(&row.todo.id).map_or_else(sealed, |recall| recall.work)
    }

    async fn plan(&mut self, terms: &FleetTerms) -> Result<Flow, Broken> {
        let Bench { desk, supervisor, root, .. } = &*self.bench;
        let agents = desk.settings.catalog.invocable().map(|agent| agent.name.as_str());
        let text = words::plan(&terms.goal, agents, worker::usual(terms));
        let message = SendParams { task: None, text, images: Vec::new(), delivery: Delivery::FollowUp };
        let message = match hooks::prompted(desk, supervisor, *root, message).await {
            Ok(message) => message,
            Err(Rejected::Hook(reason)) => return self.unplanned(reason).await,
            Err(rejected) => return Err(rejected.into()),
        };
        supervisor.submit(commands::input(Command::Send(message), *root)).await?;
        self.own.judged = false;
        Ok(Flow::On)
    }

    /// Looks at the plan that the main agent left; sends it back as often as it may be mended.
    async fn judge(&mut self, terms: &FleetTerms) -> Result<Flow, Broken> {
        self.bench.desk.todos.take().await?;
        self.own.judged = true;
        let first = self.past.reviews == 0;
        let asked = self.past.plans + self.past.reviews > 0 && !self.past.worked;
        if let Some(words) = self.root_failed().filter(|_| asked) {
            // One who cannot look at the result has changed nothing, so the fleet ends as it is.
            return if first { self.unplanned(words).await } else { Ok(Flow::On) };
        }
        let rows = self.bench.rows()?;
        let todos: Vec<Todo> = rows.iter().map(|row| row.todo.clone()).collect();
        // A plan that a person wrote was looked at before the fleet began.
        if asked && let Some(flow) = self.send_back(terms, &todos, first).await? {
            return Ok(flow);
        }
        if !self.remembers {
            self.remember(&rows, &todos).await;
        }
        Ok(Flow::On)
    }

    /// Tells the memory what is to be done, and what other owners have done of it.
    async fn remember(&mut self, rows: &[TodoRow], todos: &[Todo]) {
        self.remembers = true;
        self.bench.aids.memory.begin(todos).await;
        for row in rows.iter().filter(|row| row.todo.status == TodoStatus::Done) {
            self.keep(row).await;
        }
    }

    /// Sends a plan back that cannot be worked by; nothing when it can, or when its bad parts only block themselves.
    async fn send_back(&mut self, terms: &FleetTerms, todos: &[Todo], first: bool) -> Result<Option<Flow>, Broken> {
        let problems = self.problems(terms, todos).await?;
        if problems.is_empty() {
            return Ok(None);
        }
        if self.past.mends < MENDS {
            self.tell_root(words::mend(&problems)).await?;
            self.own.judged = false;
            return Ok(Some(Flow::On));
        }
        if first {
            return self.unplanned(words::numbered(&problems)).await.map(Some);
        }
        Ok(None)
    }

    async fn problems(&self, terms: &FleetTerms, todos: &[Todo]) -> Result<Vec<String>, Rejected> {
        if todos.is_empty() {
            return Ok(vec!["there are no todos; write at least one".into()]);
        }
        let Bench { desk, supervisor, root, .. } = &*self.bench;
        let mut problems = judge::problems(desk, *root, terms, todos).await;
        let cycle = supervisor.look(|kernel| kernel.graph().cycle()).await?;
        problems.extend(cycle.map(|path| Refusal::TodoCycle(path).to_string()));
        Ok(problems)
    }

    /// Why the main agent did not do what it was asked, if it did not.
    fn root_failed(&self) -> Option<String> {
        let last = |known: &crate::roster::Known| known.endings.last_key_value().map(|(_, end)| end.outcome.clone());
        match self.bench.desk.roster.known(self.bench.root, last).flatten()? {
            Outcome::Completed => None,
            Outcome::Failed { message, .. } => Some(message),
            outcome => Some(format!("the main agent {}", outcome.word())),
        }
    }

    async fn review(&mut self, terms: &FleetTerms) -> Result<Flow, Broken> {
        if self.unstick().await? {
            return Ok(Flow::On);
        }
        let rows = self.bench.rows()?;
        let told: Vec<words::Told> = rows
            .into_iter()
            .map(|row| {
                let said = self.bench.said(&row);
                (row, said)
            })
            .collect();
        self.tell_root(words::review(&terms.goal, &told)).await?;
        self.own.judged = false;
        Ok(Flow::On)
    }

    async fn finish(&mut self, terms: &FleetTerms) -> Result<Flow, Broken> {
        if self.unstick().await? {
            return Ok(Flow::On);
        }
        let rows = self.bench.rows()?.into_iter().filter(|row| row.todo.status == TodoStatus::Done);
        let done: Vec<Done> = rows.map(|row| Done { work: self.work_of(&row), todo: row.todo }).collect();
        match self.bench.aids.harvest.gather(terms, &done).await {
            Harvested::Whole => {}
            Harvested::Short(short) => {
                for (todo, reason) in short {
                    self.bench.block(todo, reason).await?;
                }
            }
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
    async fn unstick(&self) -> Result<bool, Rejected> {
        let stuck = self.bench.supervisor.look(|kernel| Stock::take(kernel).stuck).await?;
        let any = !stuck.is_empty();
        for (todo, reason) in stuck {
            self.bench.block(todo, reason).await?;
        }
        Ok(any)
    }

    async fn unplanned(&mut self, reason: String) -> Result<Flow, Broken> {
        let outcome = match self.own.halt {
            Some(halt) => FleetOutcome::Halted(halt),
            None if self.bench.desk.deadline.is_over() => FleetOutcome::Halted(Halt::Time),
            None => FleetOutcome::Unplanned(reason),
        };
        self.end(FleetEnd::Stopped, outcome).await
    }

    /// Ends the fleet, unless somebody else did.
    async fn end(&mut self, end: FleetEnd, outcome: FleetOutcome) -> Result<Flow, Broken> {
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

    async fn tell_root(&self, text: String) -> Result<(), Rejected> {
        let to = self.bench.root;
        let letter = Letter { to, from: Origin::Runtime, delivery: Delivery::FollowUp, body: Body::text(text) };
        self.bench.supervisor.submit(Input::Send(letter)).await.map(|_receipt| ())
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
    )
}
