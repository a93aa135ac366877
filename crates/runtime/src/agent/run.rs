//! One run of an agent: what it holds, and how it hears what happens.

use std::sync::Arc;

use kernel::{InputRefusal, RunEnding, RunUpdate};
use protocol::FailKind;
use tools::FileStamps;

use super::early_start::EarlyCall;
use super::{Deadline, SessionContext};
use crate::call_waits::CallWaits;
use crate::conversation::Conversation;
use crate::expectations;
use crate::prepared_agent::PreparedAgent;
use crate::supervisor::{InputRejection, RunLink, RunMessage};

/// One run of an agent.
#[derive(Debug)]
pub(crate) struct AgentRun {
    pub(super) context: Arc<SessionContext>,
    pub(super) agent: Arc<PreparedAgent>,
    pub(super) link: RunLink,
    pub(super) stamps: Arc<FileStamps>,
    pub(super) waits: CallWaits,
    pub(super) conversation: Conversation,
    pub(super) path: String,
    pub(super) deadline: Deadline,
    /// Whether somebody asked it to stop after a last turn.
    pub(super) stopping: bool,
    /// Whether hooks were told that it would end.
    pub(super) has_run_stop_hooks: bool,
    /// Whether an empty answer was asked about.
    pub(super) nudged: bool,
    /// The call that started with the latest answer, until it runs.
    pub(super) early: Option<EarlyCall>,
}

/// How a step of the loop ended.
pub(super) enum StepOutcome {
    /// Go on with the next.
    Continue,
    /// The activation is over, or parked, or somebody else's.
    Stop,
}

/// How something that mail can break off ended.
pub(super) enum InterruptibleOutcome<T> {
    Finished(T),
    /// It was dropped; the loop goes on at the next boundary.
    Interrupted,
}

/// Whether what a step works on is still open, as far as its events tell.
pub(super) type StillOpenCheck = fn(&Conversation) -> bool;

impl AgentRun {
    pub(crate) fn new(context: Arc<SessionContext>, link: RunLink, prepared: Arc<PreparedAgent>) -> AgentRun {
        let stamps = context.stamps(link.run.task);
        let (waits, conversation) = (CallWaits::default(), Conversation::default());
        let deadline = context.deadline;
        AgentRun {
            context,
            agent: prepared,
            link,
            stamps,
            waits,
            conversation,
            path: String::new(),
            deadline,
            stopping: false,
            has_run_stop_hooks: false,
            nudged: false,
            early: None,
        }
    }

    /// Runs the activation to its end. When the run is somebody else's by now, or the session is paused, it just
    /// stops: whatever is true is in the log.
    pub(crate) async fn run(mut self) {
        match self.run_activation().await {
            Ok(()) => self.context.cache_conversation(self.link.run.task, self.conversation),
            Err(rejected) => tracing::info!(run = %self.link.run, %rejected, "the run stops"),
        }
    }

    async fn run_activation(&mut self) -> Result<(), InputRejection> {
        match self.context.resume_conversation(self.link.run.task) {
            Ok(conversation) => {
                self.link.latest_text.begin(conversation.latest_text());
                self.conversation = conversation;
            }
            Err(error) => return self.fail(FailKind::Internal, error.to_string()).await,
        }
        expectations::remember_files(&self.context, self.link.run.task).await;
        self.path = self.context.roster.path(self.link.run.task).to_string();
        if let StepOutcome::Stop = self.run_start_hooks().await? {
            return Ok(());
        }
        while let StepOutcome::Continue = self.step().await? {}
        Ok(())
    }

    pub(super) async fn step(&mut self) -> Result<StepOutcome, InputRejection> {
        self.catch_up();
        if self.conversation.is_acting()
            && let Some(why) = self.conversation.wrap_up()
        {
            // It was told that it cannot call tools, and it has no turn left to hear of it again.
            if !why.completes() {
                return self.end(RunEnding::Completed).await;
            }
            self.drop_calls().await?;
            return self.finish().await;
        }
        if self.conversation.is_acting() {
            return self.run_open_calls().await;
        }
        match self.conversation.last_word() {
            Some(stop) => self.conclude(stop).await,
            None => self.turn().await,
        }
    }

    pub(super) async fn report(&mut self, report: RunUpdate) -> Result<(), InputRejection> {
        self.link.supervisor.report(self.link.run, report).await
    }

    /// Reads what it was told since it last looked.
    pub(super) fn catch_up(&mut self) {
        while let Some(told) = self.link.try_next_message() {
            self.apply_message(told);
        }
    }

    /// Takes in one thing it was told.
    pub(super) fn apply_message(&mut self, told: RunMessage) {
        match told {
            RunMessage::Event(envelope) => self.conversation.read(&envelope, &*self.context),
            RunMessage::WaitOver(call) => self.waits.finish(&call),
            RunMessage::WrapUp => self.stopping = true,
            RunMessage::Go => {}
        }
    }

    pub(super) async fn wait_for_slot(&mut self) {
        let _in_line = self.link.pulse.pause();
        while !self.link.take_slot() {
            match self.link.next_message().await {
                Some(told) => self.apply_message(told),
                None => return,
            }
        }
    }

    /// Lets `work` go on until it is done, or until mail that interrupts has closed what it works on.
    pub(super) async fn while_open<T>(
        &mut self,
        open: StillOpenCheck,
        work: impl Future<Output = T>,
    ) -> InterruptibleOutcome<T> {
        tokio::pin!(work);
        // Calls do not keep a task that is to stop; an answer under way is waited for.
        while open(&self.conversation) && !(self.stopping && self.conversation.is_acting()) {
            tokio::select! {
                biased;
                done = &mut work => return InterruptibleOutcome::Finished(done),
                Some(told) = self.link.next_message() => self.apply_message(told),
            }
        }
        InterruptibleOutcome::Interrupted
    }

    /// The same until the deadline; nothing when that comes first.
    pub(super) async fn before_deadline<T>(
        &mut self,
        open: StillOpenCheck,
        work: impl Future<Output = T>,
    ) -> Option<InterruptibleOutcome<T>> {
        let deadline = self.deadline;
        deadline.limit(self.while_open(open, work)).await
    }

    /// Takes the answer to a report. One that came too late, because mail had closed what it is about, waits for the
    /// events that say so: they may not be durable yet.
    pub(super) async fn unless_late(
        &mut self,
        open: StillOpenCheck,
        reported: Result<(), InputRejection>,
    ) -> Result<InterruptibleOutcome<()>, InputRejection> {
        match reported {
            Err(InputRejection::Refused(InputRefusal::NoTurn | InputRefusal::Call(_))) => {
                Ok(self.while_open(open, std::future::pending()).await)
            }
            reported => reported.map(InterruptibleOutcome::Finished),
        }
    }
}
