//! A session in this process: opened, driven and left by an edge.

#[cfg(test)]
mod buckets;
mod fleet;
#[cfg(test)]
mod many_agents;
mod open;
#[cfg(test)]
mod questions;
mod status;
#[cfg(test)]
mod todos;
mod transcript;

use std::io;
use std::sync::Arc;

use kernel::KernelInput;
use protocol::api::{DecideParams, SendParams, SessionCommand, SessionView, StartAgentParams, TaskView, TasksParams};
use protocol::{CancelBy, MailDelivery, Principal, SessionId, SessionMode, TaskId};
use store::{SessionIndex, SessionReader, StoreError};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use open::{SessionOpenError, SessionStart};
pub use status::SessionStatus;
pub use transcript::transcript;

use crate::agent::SessionContext;
use crate::bus::Subscription;
use crate::catalog::Catalog;
use crate::commands;
use crate::hooks::{self, StopHookRuns};
use crate::instructions::InstructionNotice;
use crate::merging::FleetMerger;
use crate::plan::read_plan;
use crate::result_cache::{CommitPinner, RepositoryCommits};
use crate::session_model::ModelChangeError;
use crate::slash::{self, SlashDispatcher, SlashOutcome};
use crate::supervisor::{InputRejection, Receipt, SupervisorTask};

/// A session that this process owns and runs.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    root: TaskId,
    first_seq: u64,
    context: Arc<SessionContext>,
    notices: Vec<InstructionNotice>,
    supervision: SupervisorTask,
    merger: Arc<FleetMerger>,
    /// The watchdog, the socket and the command listener.
    background_tasks: JoinSet<()>,
    /// Lets go on what waits for [`Session::resume`].
    resume_signal: Arc<Notify>,
    /// The commands that were left for it.
    pending_commands: Vec<(i64, SessionCommand)>,
    /// Whether the commands that were waiting are applied.
    commands_applied: watch::Receiver<bool>,
    closing: CancellationToken,
    inside: rpc::InProcessConnector,
    /// Tells hooks of what ended without their knowing.
    stop_hook_runs: Option<StopHookRuns>,
}

impl Session {
    /// Its id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Where it is kept.
    pub fn home(&self) -> &host::Home {
        &self.context.settings.home
    }

    pub(crate) fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Its root task.
    pub fn root(&self) -> TaskId {
        self.root
    }

    /// The last event before this process opened it.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// What calls may do now, with what was granted since it began.
    pub fn policy(&self) -> Arc<policy::Policy> {
        self.context.policy()
    }

    /// What a person should know of the files it read.
    pub fn notices(&self) -> &[InstructionNotice] {
        &self.notices
    }

    /// Everything after `seq`, then whatever happens.
    pub fn subscribe(&self, seq: u64) -> Subscription {
        self.context.bus.subscribe(seq)
    }

    /// A client of its API, as another process would have.
    pub async fn connect(&self) -> io::Result<(rpc::RpcClient, rpc::Notifications)> {
        self.inside.connect().await
    }

    /// Where more clients in this process come in, while it is open.
    pub fn inside(&self) -> rpc::InProcessConnector {
        self.inside.clone()
    }

    /// Its state, as it changes.
    pub fn status(&self) -> watch::Receiver<SessionStatus> {
        self.supervision.status.clone()
    }

    /// Sends the root a message.
    pub async fn send(&self, text: impl Into<String>, delivery: MailDelivery) -> Result<Receipt, InputRejection> {
        self.post(SendParams { task: None, text: text.into(), images: Vec::new(), delivery, display: None }).await
    }

    /// Sends a message, with pictures if it has any.
    pub async fn post(&self, message: SendParams) -> Result<Receipt, InputRejection> {
        let supervisor = &self.supervision.supervisor;
        let message = hooks::filter_prompt(&self.context, supervisor, self.root, message).await?;
        supervisor.submit(commands::input_of(SessionCommand::Send(message), self.root)).await
    }

    /// Does what a text asks for, if it is a slash command. What is a prompt then is for the caller to post.
    pub async fn dispatch(&self, text: &str) -> SlashOutcome {
        self.dispatcher().dispatch(text).await
    }

    /// Has the root split a request into todos and run them by agents of its own; without a request, the todos there
    /// are.
    pub async fn fleet(&self, prompt: Option<&str>) -> Result<Receipt, InputRejection> {
        self.post(slash::fleet_prompt(prompt).message()).await
    }

    /// The agents, skills and hooks it has.
    pub fn catalog(&self) -> &Catalog {
        &self.context.settings.catalog
    }

    /// Starts an agent for a person, in the background; says in words why it does not. Its result reaches the root.
    pub async fn start_agent(&self, wanted: StartAgentParams) -> Result<TaskId, String> {
        self.dispatcher().spawn(wanted).await
    }

    /// What merges the work of its fleet.
    pub fn merger(&self) -> Arc<FleetMerger> {
        Arc::clone(&self.merger)
    }

    /// The commits that hold the work of earlier runs, for a fleet whose workers have checkouts of their own.
    pub fn commit_pinner(&self) -> Arc<dyn CommitPinner> {
        let settings = &self.context.settings;
        Arc::new(RepositoryCommits::new(
            self.context.guardian.clone(),
            &settings.cwd,
            &settings.env,
            self.context.session,
        ))
    }

    /// Whether anything is under way, was interrupted, or waits to be read.
    pub async fn has_work(&self) -> Result<bool, InputRejection> {
        let waits = !self.pending_commands.is_empty() && !*self.commands_applied.borrow();
        let left = |kernel: &kernel::Kernel| {
            kernel.is_continuation_due()
                || kernel.tasks().any(|task| {
                    let unread = task.phase == kernel::TaskPhase::Idle && !task.inbox.is_empty();
                    task.phase.is_busy() || task.phase == kernel::TaskPhase::Interrupted || unread
                })
        };
        Ok(waits || self.supervision.supervisor.query(left).await?)
    }

    /// Applies the commands that were left for the session, and lets everything go on that was interrupted.
    pub async fn resume(&self) -> Result<(), InputRejection> {
        self.resume_signal.notify_one();
        let mut looked = self.commands_applied.clone();
        if looked.wait_for(|looked| *looked).await.is_err() {
            tracing::warn!("nobody looks out for commands of other processes");
        }
        self.submit(KernelInput::Resume).await
    }

    /// Stops the running turn.
    pub async fn interrupt(&self) -> Result<(), InputRejection> {
        self.submit(KernelInput::Interrupt(self.root)).await
    }

    /// The mode it is in.
    pub async fn mode(&self) -> Result<SessionMode, InputRejection> {
        self.supervision.supervisor.query(|kernel| kernel.root_control().mode).await
    }

    /// Goes on in another mode, from the next turn on.
    pub async fn set_mode(&self, mode: SessionMode) -> Result<(), InputRejection> {
        self.submit(KernelInput::SetMode { mode, by: Principal::User }).await
    }

    /// Its model, as `--model` takes it.
    pub fn model(&self) -> String {
        self.context.session_model_spec().to_string()
    }

    /// Goes on with another model, from the next turn on.
    pub async fn set_model(&self, model: &str) -> Result<(), ModelChangeError> {
        self.context.change_model(&self.supervision.supervisor, self.root, model).await.map(drop)
    }

    /// Gives the root an objective that it works on by itself, until it reports on it.
    pub async fn set_objective(&self, objective: impl Into<String>) -> Result<Receipt, InputRejection> {
        self.set_mode(SessionMode::Autopilot).await?;
        self.send(objective, MailDelivery::FollowUp).await
    }

    /// Its plan, if it has one.
    pub fn plan(&self) -> io::Result<Option<String>> {
        read_plan(self.home(), self.id)
    }

    /// Decides on an ask.
    pub async fn decide(&self, decision: DecideParams) -> Result<(), InputRejection> {
        self.submit(commands::input_of(SessionCommand::Decide(decision), self.root)).await
    }

    /// Stops every task and takes no new ones.
    pub async fn stop(&self, by: CancelBy) -> Result<(), InputRejection> {
        self.submit(KernelInput::Stop { by }).await
    }

    /// What it is now, as every view shows it.
    pub fn view(&self) -> Result<SessionView, StoreError> {
        self.context.reader()?.session_view()
    }

    /// Its tasks, oldest first.
    pub fn tasks(&self) -> Result<Vec<TaskView>, StoreError> {
        Ok(self.context.reader()?.tasks(&TasksParams::all_tasks())?.tasks)
    }

    /// Ends this process's part: what runs is interrupted and can be resumed by whoever opens the session next. Gives a
    /// reader of what it has become.
    pub async fn leave(mut self) -> Result<SessionReader, StoreError> {
        self.closing.cancel();
        // A paused session has nothing more to say.
        let _paused = self.submit(KernelInput::Suspend).await;
        if let Some(partings) = self.stop_hook_runs.take() {
            partings.finish().await;
        }
        hooks::session_ended(&self.context, &self.supervision.supervisor, self.root).await;
        self.background_tasks.shutdown().await;
        // Nobody can ask for anything any more; what somebody asked for meanwhile is interrupted as well.
        let _paused = self.submit(KernelInput::Suspend).await;
        let writer = self.supervision.leave().await;
        let context = self.context;
        // Before the lease ends: nothing that a program does from now on is done under an owner.
        let ended = context.guardian.end().await;
        match writer {
            Some(writer) => writer.release()?,
            None => tracing::warn!("the session's writer is still in use; its lease ends with this process"),
        }
        let reader = context.reader()?;
        update_index(&context, &reader);
        let survived = |survivors| StoreError::Home(format!("of what this session started, {survivors}"));
        ended.map(|()| reader).map_err(survived)
    }

    fn dispatcher(&self) -> SlashDispatcher<'_> {
        SlashDispatcher { context: &self.context, supervisor: &self.supervision.supervisor, root: self.root }
    }

    async fn submit(&self, input: KernelInput) -> Result<(), InputRejection> {
        self.supervision.supervisor.submit(input).await.map(|_receipt| ())
    }
}

/// Writes the session's row of the index. It is a cache: failing to is not a fault of the session.
fn update_index(context: &SessionContext, reader: &SessionReader) {
    let home = &context.settings.home;
    if let Err(error) = SessionIndex::open(home).and_then(|index| index.record_session(home, reader)) {
        tracing::warn!(%error, "the index of sessions was not brought up to date");
    }
}
