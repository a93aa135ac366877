//! A session in this process: opened, driven and left by an edge.

#[cfg(test)]
mod buckets;
#[cfg(test)]
mod crowd;
mod fleet;
mod open;
#[cfg(test)]
mod questions;
mod status;
#[cfg(test)]
mod todos;
mod transcript;

use std::io;
use std::sync::Arc;

use kernel::Input;
use protocol::api::{Command, DecideParams, SendParams, SessionView, StartAgentParams, TaskView, TasksParams};
use protocol::{CancelBy, Delivery, Origin, SessionId, SessionMode, TaskId};
use store::{Index, Reader, StoreError};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use open::{OpenError, Start};
pub use status::Status;
pub use transcript::transcript;

use crate::agent::Desk;
use crate::bus::Subscription;
use crate::catalog::Catalog;
use crate::commands;
use crate::hooks::{self, Partings};
use crate::instructions::Notice;
use crate::merging::Merging;
use crate::own::Unchanged;
use crate::plan::read_plan;
use crate::recall::{Commits, Works};
use crate::slash::{self, Dispatcher, Outcome};
use crate::supervisor::{Receipt, Rejected, Supervision};

/// A session that this process owns and runs.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    root: TaskId,
    first_seq: u64,
    desk: Arc<Desk>,
    notices: Vec<Notice>,
    supervision: Supervision,
    merging: Arc<Merging>,
    /// The watchman, the socket and the look-out for commands.
    attendants: JoinSet<()>,
    /// Lets go on what waits for [`Session::resume`].
    go: Arc<Notify>,
    /// The commands that were left for it.
    left: Vec<(i64, Command)>,
    /// Whether the commands that were waiting are applied.
    looked: watch::Receiver<bool>,
    closing: CancellationToken,
    inside: rpc::Inside,
    /// Tells hooks of what ended without their knowing.
    partings: Option<Partings>,
}

impl Session {
    /// Its id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Where it is kept.
    pub fn home(&self) -> &host::Home {
        &self.desk.settings.home
    }

    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
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
        self.desk.policy()
    }

    /// What a person should know of the files it read.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Everything after `seq`, then whatever happens.
    pub fn subscribe(&self, seq: u64) -> Subscription {
        self.desk.bus.subscribe(seq)
    }

    /// A client of its API, as another process would have.
    pub async fn link(&self) -> io::Result<(rpc::Client, rpc::Notifications)> {
        self.inside.link().await
    }

    /// Where more clients in this process come in, while it is open.
    pub fn inside(&self) -> rpc::Inside {
        self.inside.clone()
    }

    /// Its state, as it changes.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.supervision.status.clone()
    }

    /// Sends the root a message.
    pub async fn send(&self, text: impl Into<String>, delivery: Delivery) -> Result<Receipt, Rejected> {
        self.post(SendParams { task: None, text: text.into(), images: Vec::new(), delivery, display: None }).await
    }

    /// Sends a message, with pictures if it has any.
    pub async fn post(&self, message: SendParams) -> Result<Receipt, Rejected> {
        let supervisor = &self.supervision.supervisor;
        let message = hooks::prompted(&self.desk, supervisor, self.root, message).await?;
        supervisor.submit(commands::input(Command::Send(message), self.root)).await
    }

    /// Does what a text asks for, if it is a slash command. What is a prompt then is for the caller to post.
    pub async fn dispatch(&self, text: &str) -> Outcome {
        self.dispatcher().dispatch(text).await
    }

    /// Has the root split a request into todos and run them by agents of its own; without a request, the todos there
    /// are.
    pub async fn fleet(&self, prompt: Option<&str>) -> Result<Receipt, Rejected> {
        self.post(slash::fleet_prompt(prompt).message()).await
    }

    /// The agents, skills and hooks it has.
    pub fn catalog(&self) -> &Catalog {
        &self.desk.settings.catalog
    }

    /// Starts an agent for a person, in the background; says in words why it does not. Its result reaches the root.
    pub async fn start_agent(&self, wanted: StartAgentParams) -> Result<TaskId, String> {
        self.dispatcher().spawn(wanted).await
    }

    /// What merges the work of its fleet.
    pub fn merging(&self) -> Arc<Merging> {
        Arc::clone(&self.merging)
    }

    /// The commits that hold the work of earlier runs, for a fleet whose workers have checkouts of their own.
    pub fn works(&self) -> Arc<dyn Works> {
        let settings = &self.desk.settings;
        Arc::new(Commits::new(self.desk.guardian.clone(), &settings.cwd, &settings.env, self.desk.session))
    }

    /// Whether anything is under way, was interrupted, or waits to be read.
    pub async fn has_work(&self) -> Result<bool, Rejected> {
        let waits = !self.left.is_empty() && !*self.looked.borrow();
        let left = |kernel: &kernel::Kernel| {
            kernel.is_continuation_due()
                || kernel.tasks().any(|task| {
                    let unread = task.phase == kernel::Phase::Idle && !task.inbox.is_empty();
                    task.phase.is_busy() || task.phase == kernel::Phase::Interrupted || unread
                })
        };
        Ok(waits || self.supervision.supervisor.look(left).await?)
    }

    /// Applies the commands that were left for the session, and lets everything go on that was interrupted.
    pub async fn resume(&self) -> Result<(), Rejected> {
        self.go.notify_one();
        let mut looked = self.looked.clone();
        if looked.wait_for(|looked| *looked).await.is_err() {
            tracing::warn!("nobody looks out for commands of other processes");
        }
        self.submit(Input::Resume).await
    }

    /// Stops the running turn.
    pub async fn interrupt(&self) -> Result<(), Rejected> {
        self.submit(Input::Interrupt(self.root)).await
    }

    /// The mode it is in.
    pub async fn mode(&self) -> Result<SessionMode, Rejected> {
        self.supervision.supervisor.look(|kernel| kernel.helm().mode).await
    }

    /// Goes on in another mode, from the next turn on.
    pub async fn set_mode(&self, mode: SessionMode) -> Result<(), Rejected> {
        self.submit(Input::SetMode { mode, by: Origin::User }).await
    }

    /// Its model, as `--model` takes it.
    pub fn model(&self) -> String {
        self.desk.own_spec().to_string()
    }

    /// Goes on with another model, from the next turn on.
    pub async fn set_model(&self, model: &str) -> Result<(), Unchanged> {
        self.desk.change_model(&self.supervision.supervisor, self.root, model).await.map(drop)
    }

    /// Gives the root an objective that it works on by itself, until it reports on it.
    pub async fn set_objective(&self, objective: impl Into<String>) -> Result<Receipt, Rejected> {
        self.set_mode(SessionMode::Autopilot).await?;
        self.send(objective, Delivery::FollowUp).await
    }

    /// Its plan, if it has one.
    pub fn plan(&self) -> io::Result<Option<String>> {
        read_plan(self.home(), self.id)
    }

    /// Decides on an ask.
    pub async fn decide(&self, decision: DecideParams) -> Result<(), Rejected> {
        self.submit(commands::input(Command::Decide(decision), self.root)).await
    }

    /// Stops every task and takes no new ones.
    pub async fn stop(&self, by: CancelBy) -> Result<(), Rejected> {
        self.submit(Input::Stop { by }).await
    }

    /// What it is now, as every view shows it.
    pub fn view(&self) -> Result<SessionView, StoreError> {
        self.desk.reader()?.session_view()
    }

    /// Its tasks, oldest first.
    pub fn tasks(&self) -> Result<Vec<TaskView>, StoreError> {
        Ok(self.desk.reader()?.tasks(&TasksParams::every())?.tasks)
    }

    /// Ends this process's part: what runs is interrupted and can be resumed by whoever opens the session next. Gives a
    /// reader of what it has become.
    pub async fn leave(mut self) -> Result<Reader, StoreError> {
        self.closing.cancel();
        // A paused session has nothing more to say.
        let _paused = self.submit(Input::Suspend).await;
        if let Some(partings) = self.partings.take() {
            partings.finish().await;
        }
        hooks::ended(&self.desk, &self.supervision.supervisor, self.root).await;
        self.attendants.shutdown().await;
        // Nobody can ask for anything any more; what somebody asked for meanwhile is interrupted as well.
        let _paused = self.submit(Input::Suspend).await;
        let writer = self.supervision.leave().await;
        let desk = self.desk;
        // Before the lease ends: nothing that a program does from now on is done under an owner.
        let ended = desk.guardian.end().await;
        match writer {
            Some(writer) => writer.release()?,
            None => tracing::warn!("the session's writer is still in use; its lease ends with this process"),
        }
        let reader = desk.reader()?;
        note(&desk, &reader);
        let survived = |survivors| StoreError::Home(format!("of what this session started, {survivors}"));
        ended.map(|()| reader).map_err(survived)
    }

    fn dispatcher(&self) -> Dispatcher<'_> {
        Dispatcher { desk: &self.desk, supervisor: &self.supervision.supervisor, root: self.root }
    }

    async fn submit(&self, input: Input) -> Result<(), Rejected> {
        self.supervision.supervisor.submit(input).await.map(|_receipt| ())
    }
}

/// Writes the session's row of the index. It is a cache: failing to is no fault of the session.
fn note(desk: &Desk, reader: &Reader) {
    let home = &desk.settings.home;
    if let Err(error) = Index::open(home).and_then(|index| index.note(home, reader)) {
        tracing::warn!(%error, "the index of sessions was not brought up to date");
    }
}
