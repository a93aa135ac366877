//! A session in this process, which a client opens, drives and leaves.

#[cfg(test)]
mod buckets;
mod client_messages;
mod fleet;
#[cfg(test)]
mod many_agents;
mod open;
mod owner;
#[cfg(test)]
mod questions;
mod status;
#[cfg(test)]
mod todos;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use client::SessionHandle;
use kernel::KernelInput;
use protocol::api::{
    DecideParams, ModelParams, SendParams, SessionCommand, SessionView, StartAgentParams, TaskView, TasksParams,
};
use protocol::{CancelBy, MailDelivery, Principal, SessionId, SessionMode, TaskId, TaskOutcome};
use store::{SessionIndex, SessionReader, StoreError, plan};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) use client_messages::ClientMessages;
pub use open::{SessionOpenError, SessionStart, acts_for_user};
pub use status::SessionStatus;

use crate::bus::Subscription;
use crate::catalog::Catalog;
use crate::commands;
use crate::hooks::{self, StopHookRuns};
use crate::instructions::InstructionNotice;
use crate::roster::RosterEntry;
use crate::session_context::SessionContext;
use crate::session_model::ModelChangeError;
use crate::slash::{SlashDispatcher, SlashOutcome};
use crate::subagents::StartAgentError;
use crate::supervisor::{InputRejection, Receipt, SupervisorTask};

/// How long the end of a session waits for the answer to the question for its title.
const MAX_TITLE_WAIT: Duration = Duration::from_secs(10);

/// A session that this process owns and runs.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    root: TaskId,
    first_seq: u64,
    context: Arc<SessionContext>,
    notices: Vec<InstructionNotice>,
    supervision: SupervisorTask,
    /// The watchdog, the socket, the command listener and the runner of fleets.
    background_tasks: JoinSet<()>,
    /// Sent by [`Session::resume`] to apply the pending commands.
    resume_signal: Arc<Notify>,
    /// Commands that other processes left for the session.
    pending_commands: Vec<(i64, SessionCommand)>,
    /// Whether the pending commands are applied.
    commands_applied: watch::Receiver<bool>,
    /// Cancelled when this process leaves the session.
    closing: CancellationToken,
    /// The session for clients in this process.
    handle: SessionHandle,
    /// Runs stop hooks for activations that ended without them.
    stop_hook_runs: Option<StopHookRuns>,
    /// Whether no question for the session's title is due.
    title_done: watch::Receiver<bool>,
}

impl Session {
    /// The session's id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The home that stores the session.
    pub fn home(&self) -> &host::Home {
        &self.context.facts.home
    }

    pub(crate) fn context(&self) -> &SessionContext {
        &self.context
    }

    /// The session's root task.
    pub fn root(&self) -> TaskId {
        self.root
    }

    /// The number of the last event before this process opened the session.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// The current policy, including the grants of the session.
    pub fn policy(&self) -> Arc<policy::Policy> {
        self.context.policy()
    }

    /// Notices for the user about the session's instruction files.
    pub fn notices(&self) -> &[InstructionNotice] {
        &self.notices
    }

    /// Subscribes to all events after `seq`, stored and live.
    pub fn subscribe(&self, seq: u64) -> Subscription {
        self.context.log.bus.subscribe(seq)
    }

    /// Connects a client to the session's API, as another process would.
    pub async fn connect(&self) -> io::Result<(rpc::RpcClient, rpc::Notifications)> {
        self.handle.connect().await
    }

    /// The session for clients in this process, while it is open.
    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    /// The session's status, as it changes.
    pub fn status(&self) -> watch::Receiver<SessionStatus> {
        self.supervision.status.clone()
    }

    /// Sends the root a message.
    pub async fn send(&self, text: impl Into<String>, delivery: MailDelivery) -> Result<Receipt, InputRejection> {
        self.post(SendParams { task: None, text: text.into(), images: Vec::new(), delivery, display: None }).await
    }

    /// Sends a message, with its images.
    pub async fn post(&self, message: SendParams) -> Result<Receipt, InputRejection> {
        let supervisor = &self.supervision.supervisor;
        let message = hooks::filter_prompt(&self.context, supervisor, self.root, message).await?;
        supervisor.submit(commands::input_of(SessionCommand::Send(message), self.root)).await
    }

    /// Executes a slash command. The caller must post a prompt that results from it.
    pub async fn dispatch(&self, text: &str) -> SlashOutcome {
        self.dispatcher().dispatch(text).await
    }

    /// The session's agents, skills and hooks.
    pub fn catalog(&self) -> &Catalog {
        &self.context.catalog.definitions
    }

    /// Starts a background agent for the user; its result goes to the root.
    pub async fn start_agent(&self, params: StartAgentParams) -> Result<TaskId, StartAgentError> {
        self.dispatcher().spawn(params).await
    }

    /// Whether a task is busy or interrupted, or mail or commands are waiting.
    pub async fn has_work(&self) -> Result<bool, InputRejection> {
        let has_commands = !self.pending_commands.is_empty() && !*self.commands_applied.borrow();
        let has_open_work = |kernel: &kernel::Kernel| {
            kernel.is_continuation_due()
                || kernel.tasks().any(|task| {
                    let unread = task.phase == kernel::TaskPhase::Idle && !task.inbox.is_empty();
                    task.phase.is_busy() || task.phase == kernel::TaskPhase::Interrupted || unread
                })
        };
        Ok(has_commands || self.supervision.supervisor.query(has_open_work).await?)
    }

    /// Applies the pending commands and resumes everything that was interrupted.
    pub async fn resume(&self) -> Result<(), InputRejection> {
        self.resume_signal.notify_one();
        let mut applied = self.commands_applied.clone();
        if applied.wait_for(|applied| *applied).await.is_err() {
            tracing::warn!("the command listener has ended");
        }
        self.submit(KernelInput::Resume).await
    }

    /// Stops the running turn.
    pub async fn interrupt(&self) -> Result<(), InputRejection> {
        self.submit(KernelInput::Interrupt(self.root)).await
    }

    /// The session's mode.
    pub async fn mode(&self) -> Result<SessionMode, InputRejection> {
        self.supervision.supervisor.query(|kernel| kernel.root_control().mode).await
    }

    /// Switches to another mode, from the next turn on.
    pub async fn set_mode(&self, mode: SessionMode) -> Result<(), InputRejection> {
        self.submit(KernelInput::SetMode { mode, by: Principal::User }).await
    }

    /// The session's model, in the form of `--model`.
    pub fn model(&self) -> String {
        self.context.session_model_spec().to_string()
    }

    /// Switches to another model, from the next turn on.
    pub async fn set_model(&self, model: &str) -> Result<(), ModelChangeError> {
        self.context.change_model(&self.supervision.supervisor, self.root, &ModelParams::new(model)).await.map(drop)
    }

    /// Switches to autopilot and gives the root an objective.
    pub async fn set_objective(&self, objective: impl Into<String>) -> Result<Receipt, InputRejection> {
        self.set_mode(SessionMode::Autopilot).await?;
        self.send(objective, MailDelivery::FollowUp).await
    }

    /// The session's plan, if it has one.
    pub fn plan(&self) -> io::Result<Option<String>> {
        plan::read(self.home(), self.id)
    }

    /// Decides on an ask.
    pub async fn decide(&self, decision: DecideParams) -> Result<(), InputRejection> {
        self.submit(commands::input_of(SessionCommand::Decide(decision), self.root)).await
    }

    /// Stops every task and accepts no new ones.
    pub async fn stop(&self, by: CancelBy) -> Result<(), InputRejection> {
        self.submit(KernelInput::Stop { by }).await
    }

    /// The session's current view in the API.
    pub fn view(&self) -> Result<SessionView, StoreError> {
        self.context.log.reader()?.session_view()
    }

    /// The session's tasks, oldest first.
    pub fn tasks(&self) -> Result<Vec<TaskView>, StoreError> {
        Ok(self.context.log.reader()?.tasks(&TasksParams::all_tasks())?.tasks)
    }

    /// Begins no more turns, and waits until those in progress are answered, at most this long. Only for a session that is
    /// about to be left: its agents do not continue.
    pub async fn finish_turns(&self, limit: Duration) {
        let supervisor = &self.supervision.supervisor;
        let awaits_model = |kernel: &kernel::Kernel| {
            kernel.tasks().any(|task| matches!(task.work, kernel::ActivationWork::AwaitingModel(_)))
        };
        let finished = async {
            self.context.governor.close().await;
            let mut settled = supervisor.settled();
            while supervisor.query(awaits_model).await.unwrap_or(false) && settled.changed().await.is_ok() {}
        };
        if tokio::time::timeout(limit, finished).await.is_err() {
            tracing::info!(session = %self.id, "left before its model answered");
        }
    }

    /// Leaves the session: interrupts all running tasks, so that the next owner can resume them.
    pub async fn leave(mut self) -> Result<(), StoreError> {
        self.await_title().await;
        self.closing.cancel();
        // A paused session rejects this.
        let _paused = self.submit(KernelInput::Suspend).await;
        if let Some(stop_hook_runs) = self.stop_hook_runs.take() {
            stop_hook_runs.finish().await;
        }
        hooks::session_ended(&self.context, &self.supervision.supervisor, self.root).await;
        self.background_tasks.shutdown().await;
        // No more inputs can arrive; interrupt tasks that were started meanwhile as well.
        let _paused = self.submit(KernelInput::Suspend).await;
        let writer = self.supervision.shut_down().await;
        let context = self.context;
        if let Some(catalog) = &context.catalog.tool_catalog {
            catalog.close().await;
        }
        // End all programs before the lease ends, so that none runs without an owner.
        let ended = context.workplace.guardian.end().await;
        match writer {
            Some(writer) => writer.release()?,
            None => tracing::warn!("the session's writer is still in use; its lease ends with this process"),
        }
        let reader = context.log.reader()?;
        update_index(&context, &reader);
        let survived = |survivors| StoreError::Home(format!("programs of this session: {survivors}"));
        ended.map_err(survived)
    }

    /// Lets a question for the title end, if the root has answered.
    async fn await_title(&mut self) {
        let has_completed = |entry: &RosterEntry| {
            entry.endings.last_key_value().is_some_and(|(_, end)| end.outcome == TaskOutcome::Completed)
        };
        if self.context.log.roster.with_task(self.root, has_completed) == Some(true) {
            let is_done = self.title_done.wait_for(|is_done| *is_done);
            // Without a title in time, the session keeps its first prompt as its title.
            drop(tokio::time::timeout(MAX_TITLE_WAIT, is_done).await);
        }
    }

    fn dispatcher(&self) -> SlashDispatcher<'_> {
        SlashDispatcher { context: &self.context, supervisor: &self.supervision.supervisor, root: self.root }
    }

    async fn submit(&self, input: KernelInput) -> Result<(), InputRejection> {
        self.supervision.supervisor.submit(input).await.map(|_receipt| ())
    }
}

/// Writes the session's row of the index. The index is a cache, so a failure is not an error of the session.
fn update_index(context: &SessionContext, reader: &SessionReader) {
    let home = &context.facts.home;
    if let Err(error) = SessionIndex::open(home).and_then(|index| index.record_session(home, reader)) {
        tracing::warn!(%error, "the session index was not updated");
    }
}
