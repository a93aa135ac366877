//! The turn loop.

use std::sync::Arc;

use kernel::{Ending, Point, Refusal, Report};
use model::{ModelError, Reply};
use protocol::{Block, Cost, FailKind, Limit, ModelFault, StopReason, Turn, Usage};
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

/// How something that can be broken off ended.
enum Broken<T> {
    Done(T),
    /// The turn under way is dropped; the loop goes on at the next boundary.
    Off,
}

impl AgentRun {
    pub(crate) fn new(desk: Arc<Desk>, link: Link) -> AgentRun {
        let stamps = desk.stamps();
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
        let open = self.conversation.open_calls();
        if !open.is_empty() {
            let callers = open.into_iter().map(|call| {
                let caller = self.caller(&call);
                (call, caller)
            });
            let calls = callers.collect();
            let bench = Bench { desk: Arc::clone(&self.desk), stamps: Arc::clone(&self.stamps) };
            return match self.unless_broken(async move { run_all(&bench, calls).await }).await {
                Broken::Done(answered) => answered.map(|()| Step::On),
                Broken::Off => Ok(Step::On),
            };
        }
        if let Some(stop) = self.conversation.last_word() {
            return self.conclude(stop).await;
        }
        // One commit for both: the mail that is heard, and the turn that answers it.
        let (supervisor, run) = (&self.link.supervisor, self.link.run);
        let heard = supervisor.report(run, Report::Boundary(Point::Between));
        let (heard, begun) = tokio::join!(heard, supervisor.report(run, self.turn_begun()));
        heard?;
        self.turn(begun).await
    }

    /// Asks the model until it answers, and decides what its answer means.
    async fn turn(&mut self, mut begun: Result<(), Rejected>) -> Result<Step, Rejected> {
        let mut tries = 0;
        loop {
            tries += 1;
            let turn = match self.begin_turn(begun).await? {
                Ok(turn) => turn,
                Err(ending) => return self.end(ending).await,
            };
            self.catch_up();
            let mut request = self.desk.request(self.conversation.agent(), &self.path, tries);
            request.messages = self.conversation.messages().to_vec();
            let (desk, task) = (Arc::clone(&self.desk), self.link.run.task);
            let asked = async move { ask(&*desk.settings.model, request, &desk.bus, task, turn).await };
            let answer = match self.unless_broken(asked).await {
                Broken::Done(answer) => answer,
                Broken::Off => return Ok(Step::On),
            };
            match answer {
                Ok(reply) => return self.answered(turn, reply).await,
                Err(error) => {
                    if let Some(step) = self.failed(turn, error, tries).await? {
                        return Ok(step);
                    }
                    begun = self.report(self.turn_begun()).await;
                }
            }
        }
    }

    /// What reserves and begins the next turn.
    fn turn_begun(&self) -> Report {
        Report::TurnBegun { model: self.desk.settings.model.name().to_owned(), reserve: Cost::ZERO }
    }

    /// The turn that was begun, or why there is none; waits for a slot and begins again if it has to.
    async fn begin_turn(&mut self, mut begun: Result<(), Rejected>) -> Result<Result<Turn, Ending>, Rejected> {
        loop {
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
            begun = self.report(self.turn_begun()).await;
        }
    }

    async fn answered(&mut self, turn: Turn, reply: Reply) -> Result<Step, Rejected> {
        let Reply { content, stop, usage, model } = reply;
        let calls = content.iter().any(|block| matches!(block, Block::Call(_)));
        let cost = cost_of(usage);
        self.report(Report::TurnAnswered { turn, content, stop, usage, cost, model }).await?;
        if calls { Ok(Step::On) } else { self.conclude(stop).await }
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
        self.report(report).await?;
        match retry::next(fault, tries) {
            Next::Again(after) => match self.unless_broken(tokio::time::sleep(after)).await {
                Broken::Done(()) => Ok(None),
                Broken::Off => Ok(Some(Step::On)),
            },
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
            // What is broken off is over by the time anybody looks here.
            let _broken = self.hear(told);
        }
    }

    /// Takes in one thing it was told; says whether the turn under way is broken off.
    fn hear(&mut self, told: Told) -> bool {
        match told {
            Told::Event(envelope) => self.conversation.read(&envelope, &*self.desk),
            Told::WaitOver(call, why) => self.waits.over(&call, why),
            Told::Break => return true,
            // The root of a session is stopped at once; agents with a last turn come with the task tool.
            Told::WrapUp | Told::Go => {}
        }
        false
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

    /// Lets `work` go on until it is done or the turn is broken off, reading what it is told meanwhile.
    async fn unless_broken<T>(&mut self, work: impl Future<Output = T>) -> Broken<T> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Broken::Done(done),
                Some(told) = self.link.told.recv() => {
                    if self.hear(told) {
                        return Broken::Off;
                    }
                }
            }
        }
    }

    fn caller(&self, call: &protocol::Call) -> Caller {
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
