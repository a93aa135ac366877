//! A session that this program runs.

use protocol::api::{AskView, DecideParams, StartAgentParams, TaskView};
use protocol::{AskDecision, AskId, CancelBy, MailDelivery, SessionId, TaskId, TaskOutcome, TaskState};
use runtime::{BusMessage, Subscription};

use crate::Error;

/// A session that this program runs. Dropping it ends everything in it, like a crash; close it with
/// [`AgentSession::leave`] instead.
#[derive(Debug)]
pub struct AgentSession(runtime::Session);

/// The root's answer to a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptAnswer {
    /// Its final message.
    pub text: String,
    /// How its activation ended; none if there was none.
    pub outcome: Option<TaskOutcome>,
    /// The sequence number of the last event when it became idle.
    pub seq: u64,
}

impl AgentSession {
    pub(crate) fn new(session: runtime::Session) -> AgentSession {
        AgentSession(session)
    }

    /// The session's id, for [`Bosun::resume`](crate::Bosun::resume) and `bosun --resume`.
    pub fn id(&self) -> SessionId {
        self.0.id()
    }

    /// The root's task.
    pub fn root(&self) -> TaskId {
        self.0.root()
    }

    /// Sends the root a message, and waits until the session is idle: the root has answered, and no agent works in the
    /// background.
    pub async fn prompt(&self, text: impl Into<String>) -> Result<PromptAnswer, Error> {
        self.send(text).await?;
        self.wait_until_idle().await
    }

    /// Sends the root a message and returns at once. A busy root reads it when its activation would end.
    pub async fn send(&self, text: impl Into<String>) -> Result<(), Error> {
        self.0.send(text, MailDelivery::FollowUp).await?;
        Ok(())
    }

    /// Waits until the session is idle.
    pub async fn wait_until_idle(&self) -> Result<PromptAnswer, Error> {
        let mut status = self.0.status();
        let final_status = status.wait_for(|status| status.phase().is_over()).await.map(|status| status.clone());
        let final_status = final_status.map_err(|_gone| Error::Paused("it has ended".into()))?;
        if let Some(why) = final_status.paused {
            return Err(Error::Paused(why.to_string()));
        }
        let root = self.task(self.root())?;
        Ok(PromptAnswer { text: root.result.unwrap_or_default(), outcome: root.last_outcome, seq: final_status.seq })
    }

    /// All events since this program opened the session, and text as models stream it.
    pub fn events(&self) -> Subscription {
        self.events_after(self.0.first_seq())
    }

    /// All events after `seq`, including future ones. Events come in order and are never lost.
    pub fn events_after(&self, seq: u64) -> Subscription {
        self.0.subscribe(seq)
    }

    /// Starts an agent in the background. The root receives its result too.
    pub async fn spawn(&self, agent: StartAgentParams) -> Result<TaskId, Error> {
        Ok(self.0.start_agent(agent).await?)
    }

    /// Waits until a task is idle, interrupted or finished, and returns its state.
    pub async fn wait(&self, task: TaskId) -> Result<TaskView, Error> {
        let last_seq = self.0.status().borrow().seq;
        let mut events = self.0.subscribe(last_seq);
        loop {
            let view = self.task(task)?;
            match view.state {
                TaskState::Idle | TaskState::Finished { .. } | TaskState::Interrupted => return Ok(view),
                TaskState::Queued | TaskState::Running | TaskState::Parked { .. } => {}
            }
            loop {
                match events.next().await? {
                    Some(BusMessage::Event(event)) if event.entry.task == task => break,
                    Some(BusMessage::Event(_) | BusMessage::Text { .. }) => {}
                    None => return Err(Error::Paused("it has ended".into())),
                }
            }
        }
    }

    /// Every task, oldest first.
    pub fn tasks(&self) -> Result<Vec<TaskView>, Error> {
        Ok(self.0.tasks()?)
    }

    /// One task.
    pub fn task(&self, task: TaskId) -> Result<TaskView, Error> {
        self.0.handle().task(task)?.ok_or(Error::NoTask(task))
    }

    /// Every pending ask, oldest first.
    pub fn asks(&self) -> Result<Vec<AskView>, Error> {
        Ok(self.0.handle().open_asks()?)
    }

    /// Decides on an ask.
    pub async fn decide(&self, ask: AskId, decision: AskDecision) -> Result<(), Error> {
        Ok(self.0.decide(DecideParams { ask, decision }).await?)
    }

    /// Changes the model, from the next turn on.
    pub async fn set_model(&self, model: &str) -> Result<(), Error> {
        Ok(self.0.set_model(model).await?)
    }

    /// Stops the running turn; the session stays open.
    pub async fn interrupt(&self) -> Result<(), Error> {
        Ok(self.0.interrupt().await?)
    }

    /// Stops every task.
    pub async fn stop(&self) -> Result<(), Error> {
        Ok(self.0.stop(CancelBy::User).await?)
    }

    /// Closes the session in this program. Running work is interrupted, and continues when the session is resumed.
    pub async fn leave(self) -> Result<(), Error> {
        self.0.leave().await?;
        Ok(())
    }
}
