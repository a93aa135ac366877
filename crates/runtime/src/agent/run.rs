//! One run of an agent: its state, and how it receives messages.

use std::sync::Arc;

use kernel::{InputRefusal, RunEnding, RunUpdate};
use protocol::{FailKind, Refusal};

use super::conversation_cache::ConversationCache;
use super::early_start::EarlyCall;
use super::{AgentLink, Deadline};
use crate::conversation::Conversation;
use crate::expectations;
use crate::prepared_agent::PreparedAgent;
use crate::run_requests::{SessionRequests, TaskProfile};
use crate::session_context::{AgentCatalog, TaskMemory, Workplace};
use crate::supervisor::{InputRejection, RunMessage};
use crate::watchdog::StreamedTokens;

/// One run of an agent. It knows its link, where it works and what agents are made of, but not its session.
#[derive(Debug)]
pub(crate) struct AgentRun {
    pub(super) workplace: Arc<Workplace>,
    pub(super) catalog: Arc<AgentCatalog>,
    pub(super) conversations: Arc<ConversationCache>,
    pub(super) profile: TaskProfile,
    pub(super) agent: Arc<PreparedAgent>,
    pub(super) link: AgentLink,
    /// What the task has seen of its files.
    pub(super) memory: Arc<TaskMemory>,
    pub(super) conversation: Conversation,
    pub(super) deadline: Deadline,
    /// The tokens of the current answer that have arrived.
    pub(super) streamed: StreamedTokens,
    /// Whether the run was asked to stop after a last turn.
    pub(super) stopping: bool,
    /// Whether the stop hooks ran.
    pub(super) has_run_stop_hooks: bool,
    /// Whether the model was asked again after an empty answer.
    pub(super) nudged: bool,
    /// The call whose start was committed together with the latest answer, until it runs.
    pub(super) early_call: Option<EarlyCall>,
}

/// What a run needs besides its link.
#[derive(Debug)]
pub(crate) struct RunParts {
    pub(crate) workplace: Arc<Workplace>,
    pub(crate) catalog: Arc<AgentCatalog>,
    pub(crate) conversations: Arc<ConversationCache>,
    pub(crate) profile: TaskProfile,
    pub(crate) agent: Arc<PreparedAgent>,
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
    pub(crate) fn new(parts: RunParts, link: AgentLink) -> AgentRun {
        let RunParts { workplace, catalog, conversations, profile, agent } = parts;
        AgentRun {
            memory: workplace.memories.of(link.run.task),
            deadline: workplace.facts.deadline,
            workplace,
            catalog,
            conversations,
            profile,
            agent,
            link,
            conversation: Conversation::default(),
            streamed: StreamedTokens::default(),
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
            Ok(()) => self.conversations.put(&self.profile, self.conversation),
            Err(rejected) => tracing::info!(run = %self.link.run, %rejected, "the run stops"),
        }
    }

    async fn run_activation(&mut self) -> Result<(), InputRejection> {
        match self.resume_conversation().await {
            Ok(conversation) => {
                self.session().set_initial_text(conversation.latest_text());
                self.conversation = conversation;
            }
            Err(refusal) => return self.fail(FailKind::Internal, refusal.in_one_line()).await,
        }
        if let Some(expects) = &self.profile.spec.expects {
            let workspace = &self.agent.task_workspace;
            expectations::snapshot_expected_files(&self.memory, workspace, &expects.files).await;
        }
        if let StepOutcome::Stop = self.run_start_hooks().await? {
            return Ok(());
        }
        while let StepOutcome::Continue = self.step().await? {}
        Ok(())
    }

    /// The task's conversation as of the log.
    async fn resume_conversation(&self) -> Result<Conversation, Refusal> {
        let mut conversation = self.conversations.take(self.link.run.task).unwrap_or_default();
        for envelope in self.link.session.events_after(conversation.seq()).await? {
            conversation.apply_event(&envelope, &*self.link.session);
        }
        Ok(conversation)
    }

    /// The session that answers the run's requests.
    pub(super) fn session(&self) -> &dyn SessionRequests {
        &*self.link.session
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
        self.session().report(report).await
    }

    /// Applies all messages that have arrived.
    pub(super) fn catch_up(&mut self) {
        while let Some(message) = self.link.messages.try_next() {
            self.apply_message(message);
        }
    }

    /// Applies one message.
    pub(super) fn apply_message(&mut self, message: RunMessage) {
        match message {
            RunMessage::Event(envelope) => self.conversation.apply_event(&envelope, &*self.link.session),
            RunMessage::WrapUp => self.stopping = true,
            RunMessage::SlotRegained => {}
        }
    }

    pub(super) async fn wait_for_slot(&mut self) {
        let _paused = self.link.heartbeat.pause();
        while !self.link.messages.take_slot() {
            match self.link.messages.next().await {
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
                Some(message) = self.link.messages.next() => self.apply_message(message),
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
