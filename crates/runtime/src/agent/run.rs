//! One run of an agent: its state, and how it receives messages.

use std::sync::Arc;

use kernel::{InputRefusal, RunEnding, RunUpdate};
use protocol::FailKind;
use tools::FileStamps;

use super::Deadline;
use super::early_start::EarlyCall;
use crate::call_waits::CallWaits;
use crate::conversation::Conversation;
use crate::expectations;
use crate::prepared_agent::PreparedAgent;
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, RunLink, RunMessage};

/// One run of an agent.
#[derive(Debug)]
pub(crate) struct AgentRun {
    pub(super) context: Arc<SessionContext>,
    pub(super) agent: Arc<PreparedAgent>,
    pub(super) link: RunLink,
    /// The files that the agent has read.
    pub(super) file_stamps: Arc<FileStamps>,
    /// The calls that wait for other tasks or for a decision.
    pub(super) call_waits: CallWaits,
    pub(super) conversation: Conversation,
    /// The agent's path in the task tree.
    pub(super) agent_path: String,
    pub(super) deadline: Deadline,
    /// Whether the run was asked to stop after a last turn.
    pub(super) stopping: bool,
    /// Whether the stop hooks ran.
    pub(super) has_run_stop_hooks: bool,
    /// Whether the model was asked again after an empty answer.
    pub(super) nudged: bool,
    /// The call whose start was committed together with the latest answer, until it runs.
    pub(super) early_call: Option<EarlyCall>,
}

/// How a step of the loop ended.
pub(super) enum StepOutcome {
    /// Take the next step.
    Continue,
    /// The activation is over or parked, or another run has taken it over.
    Stop,
}

/// How work that mail can interrupt ended.
pub(super) enum InterruptibleOutcome<T> {
    Finished(T),
    /// The work was abandoned; the loop continues between turns.
    Interrupted,
}

/// Returns whether the conversation shows that the work of a step is still open.
pub(super) type StillOpenCheck = fn(&Conversation) -> bool;

impl AgentRun {
    pub(crate) fn new(context: Arc<SessionContext>, link: RunLink, prepared: Arc<PreparedAgent>) -> AgentRun {
        let stamps = context.stamps(link.run.task);
        let (waits, conversation) = (CallWaits::default(), Conversation::default());
        let deadline = context.facts.deadline;
        AgentRun {
            context,
            agent: prepared,
            link,
            file_stamps: stamps,
            call_waits: waits,
            conversation,
            agent_path: String::new(),
            deadline,
            stopping: false,
            has_run_stop_hooks: false,
            nudged: false,
            early_call: None,
        }
    }

    /// Runs the activation to its end. If another run has taken over, or the session is paused, it just stops: all
    /// state is in the log.
    pub(crate) async fn run(mut self) {
        match self.run_activation().await {
            Ok(()) => self.context.cache_conversation(self.link.run.task, self.conversation),
            Err(rejected) => tracing::info!(run = %self.link.run, %rejected, "the run stops"),
        }
    }

    async fn run_activation(&mut self) -> Result<(), InputRejection> {
        match self.context.resume_conversation(self.link.run.task) {
            Ok(conversation) => {
                self.link.latest_text.set_initial(conversation.latest_text());
                self.conversation = conversation;
            }
            Err(error) => return self.fail(FailKind::Internal, error.to_string()).await,
        }
        expectations::snapshot_expected_files(&self.context, self.link.run.task).await;
        self.agent_path = self.context.log.roster.path(self.link.run.task).to_string();
        if let StepOutcome::Stop = self.run_start_hooks().await? {
            return Ok(());
        }
        while let StepOutcome::Continue = self.step().await? {}
        Ok(())
    }

    pub(super) async fn step(&mut self) -> Result<StepOutcome, InputRejection> {
        self.catch_up();
        if self.conversation.has_open_calls()
            && let Some(why) = self.conversation.wrap_up()
        {
            // The model called tools in its last turn, although it was told not to, and gets no other turn.
            if !why.counts_as_completed() {
                // The kernel records the outcome that fits the reason for the last turn.
                return self.end(RunEnding::Completed).await;
            }
            self.cancel_open_calls().await?;
            return self.complete_unless_mail().await;
        }
        if self.conversation.has_open_calls() {
            return self.run_open_calls().await;
        }
        match self.conversation.final_stop_reason() {
            Some(stop) => self.end_after_answer(stop).await,
            None => self.take_turn().await,
        }
    }

    pub(super) async fn report(&mut self, report: RunUpdate) -> Result<(), InputRejection> {
        self.link.supervisor.report(self.link.run, report).await
    }

    /// Applies all messages that have arrived.
    pub(super) fn catch_up(&mut self) {
        while let Some(message) = self.link.try_next_message() {
            self.apply_message(message);
        }
    }

    /// Applies one message.
    pub(super) fn apply_message(&mut self, message: RunMessage) {
        match message {
            RunMessage::Event(envelope) => self.conversation.apply_event(&envelope, &*self.context),
            RunMessage::WaitOver(call) => self.call_waits.finish(&call),
            RunMessage::WrapUp => self.stopping = true,
            RunMessage::SlotRegained => {}
        }
    }

    pub(super) async fn wait_for_slot(&mut self) {
        let _paused = self.link.heartbeat.pause();
        while !self.link.take_slot() {
            match self.link.next_message().await {
                Some(message) => self.apply_message(message),
                None => return,
            }
        }
    }

    /// Polls `work` until it is done, or until an interrupt has closed the turn or the calls that it belongs to.
    pub(super) async fn while_open<T>(
        &mut self,
        open: StillOpenCheck,
        work: impl Future<Output = T>,
    ) -> InterruptibleOutcome<T> {
        tokio::pin!(work);
        // A run that was asked to stop drops its calls, but waits for an answer in progress.
        while open(&self.conversation) && !(self.stopping && self.conversation.has_open_calls()) {
            tokio::select! {
                biased;
                done = &mut work => return InterruptibleOutcome::Finished(done),
                Some(message) = self.link.next_message() => self.apply_message(message),
            }
        }
        InterruptibleOutcome::Interrupted
    }

    /// Like [`AgentRun::while_open`], but returns `None` if the deadline comes first.
    pub(super) async fn before_deadline<T>(
        &mut self,
        open: StillOpenCheck,
        work: impl Future<Output = T>,
    ) -> Option<InterruptibleOutcome<T>> {
        let deadline = self.deadline;
        deadline.limit(self.while_open(open, work)).await
    }

    /// Handles the result of a report. If the report came too late, because an interrupt had closed its turn or call,
    /// waits for the events of that interrupt: they may not be committed yet.
    pub(super) async fn handle_report_result(
        &mut self,
        open: StillOpenCheck,
        reported: Result<(), InputRejection>,
    ) -> Result<InterruptibleOutcome<()>, InputRejection> {
        match reported {
            Err(InputRejection::Refused(InputRefusal::WrongTurn | InputRefusal::WrongCallPhase(_))) => {
                Ok(self.while_open(open, std::future::pending()).await)
            }
            reported => reported.map(InterruptibleOutcome::Finished),
        }
    }
}
