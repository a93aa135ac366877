//! The turn loop.

use std::sync::Arc;

use kernel::{Booked, Ending, Point, Refusal, Report};
use model::{Calls, ModelError, Reply, Request};
use protocol::{
    Answer, AnswerStatus, Block, Budget, Call, Compaction, Cost, FailKind, Limit, ModelFault, StopReason, Turn, WrapUp,
};
use tools::Stamps;

use super::Desk;
use super::ask::ask;
use super::call::{Bench, run_all};
use super::deadline::Deadline;
use super::guard;
use super::quote;
use super::retry::{Next, Tries};
use super::room::{self, Room};
use crate::conversation::Conversation;
use crate::governor::{Admission, Permit, Verdict};
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
    deadline: Deadline,
}

/// How a step of the loop ended.
enum Step {
    /// Go on with the next.
    On,
    /// The activation is over, or parked, or somebody else's.
    Over,
}

/// How the next turn began.
enum Begun {
    Turn(Turn),
    /// It needs a slot first.
    NoSlot,
    /// There is none.
    Over(Ending),
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
        let deadline = desk.deadline;
        AgentRun { desk, link, stamps, waits, conversation, path: String::new(), deadline }
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
        if self.conversation.is_acting() && self.conversation.wrap_up().is_some() {
            // It was told that it cannot call tools, and it has no turn left to hear of it again.
            return self.end(Ending::Completed).await;
        }
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
        let repeated = match guard::repeated(self.desk.settings.model.facts(), &self.conversation) {
            Ok(repeated) => repeated,
            Err(hopeless) => {
                let (kind, message) = (FailKind::NoAnswer, hopeless.to_string());
                return self.end(Ending::Failed { kind, message }).await;
            }
        };
        let called = |call: Call| {
            let caller = self.caller(&call);
            (call, caller)
        };
        let calls = self.conversation.open_calls().into_iter().map(called).collect();
        let bench = Bench { desk: Arc::clone(&self.desk), stamps: Arc::clone(&self.stamps), repeated };
        let run = async move { run_all(&bench, calls).await };
        match self.in_time(Conversation::is_acting, run).await {
            Some(Broken::Done(answered)) => {
                self.unless_late(Conversation::is_acting, answered).await?;
            }
            Some(Broken::Off) => {}
            None => self.drop_calls().await?,
        }
        Ok(Step::On)
    }

    /// Answers the calls that are still open, since their time is up.
    async fn drop_calls(&mut self) -> Result<(), Rejected> {
        self.catch_up();
        let turn = self.conversation.turn();
        for call in self.conversation.open_calls() {
            let answer = Answer { status: AnswerStatus::Cancelled, text: "The time is up.".into() };
            let report = self.report(Report::CallAnswered { turn, call: call.id, answer }).await;
            self.unless_late(Conversation::is_acting, report).await?;
        }
        Ok(())
    }

    /// Asks the model until it answers, and decides what its answer means.
    async fn turn(&mut self) -> Result<Step, Rejected> {
        let mut tries = Tries::of(self.desk.settings.model.facts());
        loop {
            let mut permit = match self.admitted().await? {
                Ok(permit) => permit,
                Err(step) => return Ok(step),
            };
            let turn = match self.begin_turn().await? {
                Begun::Turn(turn) => turn,
                Begun::NoSlot => {
                    // Whoever has a slot may need the place that this one has at the governor.
                    drop(permit);
                    self.wait_for_slot().await;
                    continue;
                }
                Begun::Over(ending) => return self.end(ending).await,
            };
            let request = self.request(tries.next());
            let (desk, task) = (Arc::clone(&self.desk), self.link.run.task);
            let held = &mut permit;
            let asked = async move { ask(&*desk.settings.model, request, &desk.bus, task, turn, held).await };
            let Some(asked) = self.in_time(Conversation::is_asking, asked).await else {
                self.out_of_time(turn).await?;
                return Ok(Step::On);
            };
            match asked {
                Broken::Off => return Ok(Step::On),
                Broken::Done(Ok(reply)) => {
                    permit.settle(Verdict::Answered);
                    return self.answered(turn, reply).await;
                }
                Broken::Done(Err(error)) => {
                    permit.settle(Verdict::Failed(error.fault));
                    if let Some(step) = self.failed(turn, error, &mut tries).await? {
                        return Ok(step);
                    }
                }
            }
        }
    }

    /// Waits until the governor lets it ask; parks when that is not soon.
    async fn admitted(&mut self) -> Result<Result<Permit, Step>, Rejected> {
        let desk = Arc::clone(&self.desk);
        let admit = desk.governor.admit(desk.settings.model.facts());
        match self.deadline.watch(admit).await {
            Some(Admission::Go(permit)) => Ok(Ok(permit)),
            Some(Admission::Park(until)) => self.report(Report::Park(until)).await.map(|()| Err(Step::Over)),
            None => {
                // Mail that is not heard would wake the task again, for the same end.
                self.report(Report::Boundary(Point::Between)).await?;
                self.end(Ending::TimedOut(Limit::Time)).await.map(Err)
            }
        }
    }

    /// What the model is asked now.
    fn request(&self, attempt: u32) -> Request {
        let (desk, conversation) = (&self.desk, &self.conversation);
        Request {
            agent: conversation.agent().into(),
            path: self.path.clone(),
            at: desk.settings.clock.now(),
            turn: conversation.answers() + 1,
            attempt,
            system: Arc::clone(&desk.system),
            messages: Arc::clone(conversation.messages()),
            tools: Arc::clone(&desk.specs),
            calls: if conversation.wrap_up().is_some() { Calls::Forbidden } else { Calls::Allowed },
            max_output: conversation.max_output(),
            effort: desk.settings.effort,
        }
    }

    /// What reserves and begins the next turn.
    fn turn_begun(&self) -> Report {
        let quote = match self.conversation.wrap_up() {
            None => quote::next(&self.desk, &self.conversation),
            Some(_) => quote::last(&self.desk, &self.conversation),
        };
        let quote = room::within(&self.desk, quote);
        Report::TurnBegun { model: self.desk.settings.model.name().to_owned(), quote }
    }

    /// Begins the next turn, or tells why there is none.
    async fn begin_turn(&mut self) -> Result<Begun, Rejected> {
        loop {
            if self.deadline.is_over() && self.conversation.wrap_up().is_none() {
                self.wrap_up(WrapUp::Time).await?;
            }
            if let Err(ending) = self.make_room().await? {
                return Ok(Begun::Over(ending));
            }
            let refusal = match self.hear_and_begin().await? {
                Ok(()) => {
                    self.catch_up();
                    return Ok(Begun::Turn(self.conversation.turn()));
                }
                Err(Rejected::Refused(refusal)) => refusal,
                Err(rejected) => return Err(rejected),
            };
            self.catch_up();
            match (refusal, self.conversation.wrap_up()) {
                (Refusal::NoSlot, _) => return Ok(Begun::NoSlot),
                (Refusal::Turns { .. }, _) => return Ok(Begun::Over(Ending::TimedOut(Limit::Turns))),
                (Refusal::Budget { .. }, None) => self.wrap_up(WrapUp::Budget).await?,
                (Refusal::Budget { .. }, Some(WrapUp::Budget)) => return Ok(Begun::Over(Ending::BudgetExhausted)),
                (Refusal::Budget { .. }, Some(WrapUp::Time)) => return Ok(Begun::Over(Ending::TimedOut(Limit::Time))),
                (refusal, _) => return Err(refusal.into()),
            }
        }
    }

    /// Hears the mail and begins the turn that answers it.
    async fn hear_and_begin(&mut self) -> Result<Result<(), Rejected>, Rejected> {
        let (supervisor, run) = (self.link.supervisor.clone(), self.link.run);
        let heard = supervisor.report(run, Report::Boundary(Point::Between));
        if self.desk.settings.budget == Budget::default() {
            // One commit for both.
            let (heard, begun) = tokio::join!(heard, supervisor.report(run, self.turn_begun()));
            return heard.map(|()| begun);
        }
        // What is set aside must count the mail, and all of it is known only when it was heard.
        heard.await?;
        self.catch_up();
        Ok(supervisor.report(run, self.turn_begun()).await)
    }

    /// Leaves out of the conversation what the model has no room for.
    async fn make_room(&mut self) -> Result<Result<(), Ending>, Rejected> {
        match room::look(&self.desk, &self.link, &self.conversation).await? {
            Room::Enough => Ok(Ok(())),
            Room::Less(compaction) => self.compact(compaction).await.map(Ok),
            Room::Never(message) => {
                // Mail that is not heard would wake the task again, for the same end.
                self.report(Report::Boundary(Point::Between)).await?;
                Ok(Err(Ending::Failed { kind: FailKind::Model, message }))
            }
        }
    }

    async fn compact(&mut self, compaction: Compaction) -> Result<(), Rejected> {
        self.report(Report::Compacted(compaction)).await?;
        self.catch_up();
        Ok(())
    }

    /// Leaves out as much as it can after the model said that it has no room; nothing when it asks again.
    async fn too_long(&mut self, words: &str) -> Result<Option<Step>, Rejected> {
        self.catch_up();
        match room::utmost(&self.desk, &self.link, &self.conversation).await? {
            Some(compaction) => self.compact(compaction).await.map(|()| None),
            None => {
                let message = room::too_long(&self.desk, words);
                self.end(Ending::Failed { kind: FailKind::Model, message }).await.map(Some)
            }
        }
    }

    /// Makes the next turn the last.
    async fn wrap_up(&mut self, why: WrapUp) -> Result<(), Rejected> {
        self.report(Report::WrapUp(why)).await?;
        self.deadline = Deadline::grace();
        self.catch_up();
        Ok(())
    }

    /// Gives up the question under way, since its time is up.
    async fn out_of_time(&mut self, turn: Turn) -> Result<(), Rejected> {
        let (fault, message) = (ModelFault::Cancelled, "the time is up".into());
        let report = Report::TurnFailed { turn, fault, message, booked: Booked::Reservation };
        let report = self.report(report).await;
        self.unless_late(Conversation::is_asking, report).await?;
        self.catch_up();
        if self.conversation.wrap_up().is_some() {
            self.end(Ending::TimedOut(Limit::Time)).await?;
        }
        Ok(())
    }

    async fn answered(&mut self, turn: Turn, reply: Reply) -> Result<Step, Rejected> {
        let Reply { content, stop, usage, model } = reply;
        let calls = content.iter().any(|block| matches!(block, Block::Call(_)));
        let price = self.desk.settings.model.facts().price;
        let cost = Cost { tokens: usage.total(), micros: price.map_or(0, |price| price.of(usage)) };
        let report = self.report(Report::TurnAnswered { turn, content, stop, usage, cost, model }).await;
        match self.unless_late(Conversation::is_asking, report).await? {
            Broken::Done(()) if !calls => self.conclude(stop).await,
            Broken::Done(()) | Broken::Off => Ok(Step::On),
        }
    }

    /// Ends the activation after the model's last word, as it stands in the log.
    async fn conclude(&mut self, stop: StopReason) -> Result<Step, Rejected> {
        self.catch_up();
        match (stop, self.conversation.wrap_up()) {
            (_, Some(why)) => self.end(out_of(why)).await,
            (StopReason::Length, None) => {
                let message = "the model reached its output limit before it was done".into();
                self.end(Ending::Failed { kind: FailKind::NoAnswer, message }).await
            }
            (StopReason::End | StopReason::Calls | StopReason::Refusal, None) => self.finish().await,
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
    async fn failed(&mut self, turn: Turn, error: ModelError, tries: &mut Tries) -> Result<Option<Step>, Rejected> {
        let (fault, booked) = (error.fault, booked(&error));
        let words = match error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message,
        };
        let report = Report::TurnFailed { turn, fault, message: words.clone(), booked };
        let report = self.report(report).await;
        if let Broken::Off = self.unless_late(Conversation::is_asking, report).await? {
            return Ok(Some(Step::On));
        }
        if fault == ModelFault::TooLong {
            return self.too_long(&words).await;
        }
        let (clock, ids) = (&self.desk.settings.clock, &self.desk.settings.ids);
        match tries.after(fault, clock.now(), ids.uuid()) {
            // Mail that interrupts is read now, by the next try, however long the provider asked to wait.
            Next::Again(after) => {
                let wait = tokio::time::sleep(after);
                match self.in_time(Conversation::is_undisturbed, wait).await {
                    Some(_waited) => Ok(None),
                    None => Ok(Some(Step::On)),
                }
            }
            Next::Park(until) => self.report(Report::Park(until)).await.map(|()| Some(Step::Over)),
            Next::GiveUp => {
                let message = match fault {
                    ModelFault::Auth => format!("the model's provider refused the key: {words}"),
                    ModelFault::Transient
                    | ModelFault::RetryAfter { .. }
                    | ModelFault::QuotaUntil { .. }
                    | ModelFault::TooLong
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

    /// The same until the deadline; nothing when that comes first.
    async fn in_time<T>(&mut self, open: StillOpen, work: impl Future<Output = T>) -> Option<Broken<T>> {
        let deadline = self.deadline;
        deadline.watch(self.while_open(open, work)).await
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

/// What a question that was not answered is counted as: nothing if the model never began to work on it.
fn booked(error: &ModelError) -> Booked {
    if error.begun { Booked::Reservation } else { Booked::Nothing }
}

/// How an activation ends that has taken its last turn.
fn out_of(why: WrapUp) -> Ending {
    match why {
        WrapUp::Budget => Ending::BudgetExhausted,
        WrapUp::Time => Ending::TimedOut(Limit::Time),
    }
}
