//! The turn loop.

use std::sync::Arc;

use kernel::{Ending, Point, Refusal, Report};
use model::{ModelError, Reply};
use protocol::{Block, Call, Cost, FailKind, Limit, ModelFault, StopReason, Turn, Usage};
use tools::Stamps;

use super::Desk;
use super::ask::ask;
use super::call::{Bench, run_all};
use super::retry::{self, Next};
use crate::conversation::Conversation;
use crate::supervisor::{Link, Rejected, Told};
use crate::waits::{Caller, Waits};

/// One run of an agent.
#[derive(Debug)]
pub(crate) struct AgentRun {
    desk: Arc<Desk>,
    link: Link,
    stamps: Arc<Stamps>,
    waits: Waits,
    conversation: Conversation,
    path: String,
}

/// How a step of the loop ended.
enum Step {
    /// Go on with the next.
    On,
    /// The activation is over, or parked, or somebody else's.
    Over,
}

/// How something that mail can break off ended.
enum Broken<T> {
    Done(T),
    /// It was dropped; the loop goes on at the next boundary.
    Off,
}

/// Whether what a step works on is still open, as far as its events tell.
type StillOpen = fn(&Conversation) -> bool;

impl AgentRun {
    pub(crate) fn new(desk: Arc<Desk>, link: Link) -> AgentRun {
        let stamps = desk.stamps(link.run.task);
        let (waits, conversation) = (Waits::default(), Conversation::default());
        AgentRun { desk, link, stamps, waits, conversation, path: String::new() }
    }

    /// Runs the activation to its end. When the run is somebody else's by now, or the session is paused, it just
    /// stops: whatever is true is in the log.
    pub(crate) async fn run(mut self) {
        if let Err(rejected) = self.activation().await {
            tracing::info!(run = %self.link.run, %rejected, "the run stops");
        }
    }

    async fn activation(&mut self) -> Result<(), Rejected> {
        match self.desk.conversation(self.link.run.task) {
            Ok(conversation) => self.conversation = conversation,
            Err(error) => return self.fail(FailKind::Internal, error.to_string()).await,
        }
        self.introduce().await?;
        while let Step::On = self.step().await? {}
        Ok(())
    }

    /// Learns where in the tree it is.
    async fn introduce(&mut self) -> Result<(), Rejected> {
        let id = self.link.run.task;
        let names = move |kernel: &kernel::Kernel| {
            let mut names = Vec::new();
            let mut next = kernel.task(id);
            while let Some(task) = next {
                names.push(task.name.clone());
                next = task.parent.and_then(|parent| kernel.task(parent));
            }
            names.reverse();
            names
        };
        let names = self.link.supervisor.look(names).await?;
        self.path = format!("/{}", names.join("/"));
        Ok(())
    }

    async fn step(&mut self) -> Result<Step, Rejected> {
        self.catch_up();
        if self.conversation.is_acting() {
            return self.act().await;
        }
        match self.conversation.last_word() {
            Some(stop) => self.conclude(stop).await,
            None => self.turn().await,
        }
    }

    /// Runs the open calls.
    async fn act(&mut self) -> Result<Step, Rejected> {
        let called = |call: Call| {
            let caller = self.caller(&call);
            (call, caller)
        };
        let calls = self.conversation.open_calls().into_iter().map(called).collect();
        let bench = Bench { desk: Arc::clone(&self.desk), stamps: Arc::clone(&self.stamps) };
        let run = async move { run_all(&bench, calls).await };
        if let Broken::Done(answered) = self.while_open(Conversation::is_acting, run).await {
            self.unless_late(Conversation::is_acting, answered).await?;
        }
        Ok(Step::On)
    }

    /// Asks the model until it answers, and decides what its answer means.
    async fn turn(&mut self) -> Result<Step, Rejected> {
        let mut tries = 0;
        loop {
            tries += 1;
            let turn = match self.begin_turn().await? {
                Ok(turn) => turn,
                Err(ending) => return self.end(ending).await,
            };
            self.catch_up();
            let mut request = self.desk.request(self.conversation.agent(), &self.path, tries);
            request.messages = Arc::clone(self.conversation.messages());
            let (desk, task) = (Arc::clone(&self.desk), self.link.run.task);
            let asked = async move { ask(&*desk.settings.model, request, &desk.bus, task, turn).await };
            match self.while_open(Conversation::is_asking, asked).await {
                Broken::Off => return Ok(Step::On),
                Broken::Done(Ok(reply)) => return self.answered(turn, reply).await,
                Broken::Done(Err(error)) => {
                    if let Some(step) = self.failed(turn, error, tries).await? {
                        return Ok(step);
                    }
                }
            }
        }
    }

    /// What reserves and begins the next turn.
    fn turn_begun(&self) -> Report {
        Report::TurnBegun { model: self.desk.settings.model.name().to_owned(), reserve: Cost::ZERO }
    }

    /// Begins the next turn, or tells why there is none; waits for a slot and begins again if it has to.
    async fn begin_turn(&mut self) -> Result<Result<Turn, Ending>, Rejected> {
        loop {
            // One commit for both: the mail that is heard, and the turn that answers it.
            let (supervisor, run) = (&self.link.supervisor, self.link.run);
            let heard = supervisor.report(run, Report::Boundary(Point::Between));
            let (heard, begun) = tokio::join!(heard, supervisor.report(run, self.turn_begun()));
            heard?;
            let refusal = match begun {
                Ok(()) => {
                    self.catch_up();
                    return Ok(Ok(self.conversation.turn()));
                }
                Err(Rejected::Refused(refusal)) => refusal,
                Err(rejected) => return Err(rejected),
            };
            match refusal {
                Refusal::NoSlot => self.wait_for_slot().await,
                Refusal::Turns { .. } => return Ok(Err(Ending::TimedOut(Limit::Turns))),
                Refusal::Budget { .. } => return Ok(Err(Ending::BudgetExhausted)),
                refusal => return Err(refusal.into()),
            }
        }
    }

    async fn answered(&mut self, turn: Turn, reply: Reply) -> Result<Step, Rejected> {
        let Reply { content, stop, usage, model } = reply;
        let calls = content.iter().any(|block| matches!(block, Block::Call(_)));
        let cost = cost_of(usage);
        let report = self.report(Report::TurnAnswered { turn, content, stop, usage, cost, model }).await;
        match self.unless_late(Conversation::is_asking, report).await? {
            Broken::Done(()) if !calls => self.conclude(stop).await,
            Broken::Done(()) | Broken::Off => Ok(Step::On),
        }
    }

    /// Ends the activation after the model's last word, as it stands in the log.
    async fn conclude(&mut self, stop: StopReason) -> Result<Step, Rejected> {
        match stop {
            StopReason::Length => {
                let message = "the model reached its output limit before it was done".into();
                self.end(Ending::Failed { kind: FailKind::NoAnswer, message }).await
            }
            StopReason::End | StopReason::Calls | StopReason::Refusal => self.finish().await,
        }
    }

    /// Ends the activation, unless mail came in that must be read first.
    async fn finish(&mut self) -> Result<Step, Rejected> {
        self.report(Report::Boundary(Point::End)).await?;
        self.catch_up();
        if matches!(self.conversation.messages().last(), Some(model::Message::User { .. })) {
            return Ok(Step::On);
        }
        match self.end(Ending::Completed).await {
            Err(Rejected::Refused(Refusal::MailWaiting)) => Ok(Step::On),
            Err(Rejected::Refused(Refusal::NoAnswer)) => {
                let message = "the model ended without an answer".into();
                self.end(Ending::Failed { kind: FailKind::NoAnswer, message }).await
            }
            ended => ended,
        }
    }

    /// Tells how the run goes on after a model that did not answer; nothing when it asks again.
    async fn failed(&mut self, turn: Turn, error: ModelError, tries: u32) -> Result<Option<Step>, Rejected> {
        let ModelError { fault, message, hint } = error;
        let words = match hint {
            Some(hint) => format!("{message}; {hint}"),
            None => message,
        };
        let report = Report::TurnFailed { turn, fault, message: words.clone(), cost: Cost::ZERO };
        let report = self.report(report).await;
        if let Broken::Off = self.unless_late(Conversation::is_asking, report).await? {
            return Ok(Some(Step::On));
        }
        match retry::next(fault, tries) {
            // Mail that interrupts is read now, by the next try, however long the provider asked to wait.
            Next::Again(after) => {
                self.while_open(Conversation::is_undisturbed, tokio::time::sleep(after)).await;
                Ok(None)
            }
            Next::Park(until) => self.report(Report::Park(until)).await.map(|()| Some(Step::Over)),
            Next::GiveUp => {
                let message = match fault {
                    ModelFault::Auth => format!("the model's provider refused the key: {words}"),
                    ModelFault::Transient
                    | ModelFault::RetryAfter { .. }
                    | ModelFault::QuotaUntil { .. }
                    | ModelFault::Terminal
                    | ModelFault::Cancelled
                    | ModelFault::Interrupted => words,
                };
                self.end(Ending::Failed { kind: FailKind::Model, message }).await.map(Some)
            }
        }
    }

    async fn fail(&mut self, kind: FailKind, message: String) -> Result<(), Rejected> {
        self.end(Ending::Failed { kind, message }).await.map(|_over| ())
    }

    async fn end(&mut self, ending: Ending) -> Result<Step, Rejected> {
        let text = self.conversation.said().to_owned();
        self.report(Report::Ended { ending, text }).await.map(|()| Step::Over)
    }

    async fn report(&mut self, report: Report) -> Result<(), Rejected> {
        self.link.supervisor.report(self.link.run, report).await
    }

    /// Reads what it was told since it last looked.
    fn catch_up(&mut self) {
        while let Ok(told) = self.link.told.try_recv() {
            self.hear(told);
        }
    }

    /// Takes in one thing it was told.
    fn hear(&mut self, told: Told) {
        match told {
            Told::Event(envelope) => self.conversation.read(&envelope, &*self.desk),
            Told::WaitOver(call, why) => self.waits.over(&call, why),
            // The root of a session is stopped at once; agents with a last turn come with the task tool.
            Told::WrapUp | Told::Go => {}
        }
    }

    async fn wait_for_slot(&mut self) {
        while let Some(told) = self.link.told.recv().await {
            let go = matches!(told, Told::Go);
            self.hear(told);
            if go {
                return;
            }
        }
    }

    /// Lets `work` go on until it is done, or until mail that interrupts has closed what it works on.
    async fn while_open<T>(&mut self, open: StillOpen, work: impl Future<Output = T>) -> Broken<T> {
        tokio::pin!(work);
        while open(&self.conversation) {
            tokio::select! {
                biased;
                done = &mut work => return Broken::Done(done),
                Some(told) = self.link.told.recv() => self.hear(told),
            }
        }
        Broken::Off
    }

    /// Takes the answer to a report. One that came too late, because mail had closed what it is about, waits for the
    /// events that say so: they may not be durable yet.
    async fn unless_late(&mut self, open: StillOpen, reported: Result<(), Rejected>) -> Result<Broken<()>, Rejected> {
        match reported {
            Err(Rejected::Refused(Refusal::NoTurn | Refusal::Call(_))) => {
                Ok(self.while_open(open, std::future::pending()).await)
            }
            reported => reported.map(Broken::Done),
        }
    }

    fn caller(&self, call: &Call) -> Caller {
        Caller {
            supervisor: self.link.supervisor.clone(),
            run: self.link.run,
            turn: self.conversation.turn(),
            call: call.id.clone(),
            waits: self.waits.clone(),
        }
    }
}

/// What an answer counts for. Prices come with the providers that have them.
fn cost_of(usage: Usage) -> Cost {
    Cost { tokens: usage.total(), micros: 0 }
}
