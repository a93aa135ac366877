//! One run of an agent: what it holds, and how it hears what happens.

use std::sync::Arc;

use kernel::{Ending, Refusal, Report};
use protocol::FailKind;
use tools::Stamps;

use super::early::Early;
use super::{Deadline, Desk};
use crate::conversation::Conversation;
use crate::expects;
use crate::outfit::Outfit;
use crate::supervisor::{Link, Rejected, Told};
use crate::waits::Waits;

/// One run of an agent.
#[derive(Debug)]
pub(crate) struct AgentRun {
    pub(super) desk: Arc<Desk>,
    pub(super) outfit: Arc<Outfit>,
    pub(super) link: Link,
    pub(super) stamps: Arc<Stamps>,
    pub(super) waits: Waits,
    pub(super) conversation: Conversation,
    pub(super) path: String,
    pub(super) deadline: Deadline,
    /// Whether somebody asked it to stop after a last turn.
    pub(super) stopping: bool,
    /// Whether hooks were told that it would end.
    pub(super) parting: bool,
    /// Whether an empty answer was asked about.
    pub(super) nudged: bool,
    /// The call that started with the latest answer, until it runs.
    pub(super) early: Option<Early>,
}

/// How a step of the loop ended.
pub(super) enum Step {
    /// Go on with the next.
    On,
    /// The activation is over, or parked, or somebody else's.
    Over,
}

/// How something that mail can break off ended.
pub(super) enum Broken<T> {
    Done(T),
    /// It was dropped; the loop goes on at the next boundary.
    Off,
}

/// Whether what a step works on is still open, as far as its events tell.
pub(super) type StillOpen = fn(&Conversation) -> bool;

impl AgentRun {
    pub(crate) fn new(desk: Arc<Desk>, link: Link, outfit: Arc<Outfit>) -> AgentRun {
        let stamps = desk.stamps(link.run.task);
        let (waits, conversation) = (Waits::default(), Conversation::default());
        let deadline = desk.deadline;
        AgentRun {
            desk,
            outfit,
            link,
            stamps,
            waits,
            conversation,
            path: String::new(),
            deadline,
            stopping: false,
            parting: false,
            nudged: false,
            early: None,
        }
    }

    /// Runs the activation to its end. When the run is somebody else's by now, or the session is paused, it just
    /// stops: whatever is true is in the log.
    pub(crate) async fn run(mut self) {
        match self.activation().await {
            Ok(()) => self.desk.keep_conversation(self.link.run.task, self.conversation),
            Err(rejected) => tracing::info!(run = %self.link.run, %rejected, "the run stops"),
        }
    }

    async fn activation(&mut self) -> Result<(), Rejected> {
        match self.desk.resume_conversation(self.link.run.task) {
            Ok(conversation) => {
                self.link.words.begin(conversation.said());
                self.conversation = conversation;
            }
            Err(error) => return self.fail(FailKind::Internal, error.to_string()).await,
        }
        expects::remember(&self.desk, self.link.run.task).await;
        self.path = self.desk.roster.path(self.link.run.task).to_string();
        if let Step::Over = self.greet().await? {
            return Ok(());
        }
        while let Step::On = self.step().await? {}
        Ok(())
    }

    pub(super) async fn step(&mut self) -> Result<Step, Rejected> {
        self.catch_up();
        if self.conversation.is_acting()
            && let Some(why) = self.conversation.wrap_up()
        {
            // It was told that it cannot call tools, and it has no turn left to hear of it again.
            if !why.completes() {
                return self.end(Ending::Completed).await;
            }
            self.drop_calls().await?;
            return self.finish().await;
        }
        if self.conversation.is_acting() {
            return self.act().await;
        }
        match self.conversation.last_word() {
            Some(stop) => self.conclude(stop).await,
            None => self.turn().await,
        }
    }

    pub(super) async fn report(&mut self, report: Report) -> Result<(), Rejected> {
        self.link.supervisor.report(self.link.run, report).await
    }

    /// Reads what it was told since it last looked.
    pub(super) fn catch_up(&mut self) {
        while let Some(told) = self.link.told_already() {
            self.hear(told);
        }
    }

    /// Takes in one thing it was told.
    pub(super) fn hear(&mut self, told: Told) {
        match told {
            Told::Event(envelope) => self.conversation.read(&envelope, &*self.desk),
            Told::WaitOver(call) => self.waits.over(&call),
            Told::WrapUp => self.stopping = true,
            Told::Go => {}
        }
    }

    pub(super) async fn wait_for_slot(&mut self) {
        let _in_line = self.link.pulse.rest();
        while !self.link.take_slot() {
            match self.link.told().await {
                Some(told) => self.hear(told),
                None => return,
            }
        }
    }

    /// Lets `work` go on until it is done, or until mail that interrupts has closed what it works on.
    pub(super) async fn while_open<T>(&mut self, open: StillOpen, work: impl Future<Output = T>) -> Broken<T> {
        tokio::pin!(work);
        // Calls do not keep a task that is to stop; an answer under way is waited for.
        while open(&self.conversation) && !(self.stopping && self.conversation.is_acting()) {
            tokio::select! {
                biased;
                done = &mut work => return Broken::Done(done),
                Some(told) = self.link.told() => self.hear(told),
            }
        }
        Broken::Off
    }

    /// The same until the deadline; nothing when that comes first.
    pub(super) async fn in_time<T>(&mut self, open: StillOpen, work: impl Future<Output = T>) -> Option<Broken<T>> {
        let deadline = self.deadline;
        deadline.watch(self.while_open(open, work)).await
    }

    /// Takes the answer to a report. One that came too late, because mail had closed what it is about, waits for the
    /// events that say so: they may not be durable yet.
    pub(super) async fn unless_late(
        &mut self,
        open: StillOpen,
        reported: Result<(), Rejected>,
    ) -> Result<Broken<()>, Rejected> {
        match reported {
            Err(Rejected::Refused(Refusal::NoTurn | Refusal::Call(_))) => {
                Ok(self.while_open(open, std::future::pending()).await)
            }
            reported => reported.map(Broken::Done),
        }
    }
}
