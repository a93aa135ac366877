//! A session that this program runs.

use protocol::api::{AskView, DecideParams, StartAgentParams, TaskView};
use protocol::{AskDecision, AskId, CancelBy, MailDelivery, SessionId, TaskId, TaskOutcome, TaskState};
use runtime::{BusMessage, SessionStatus, Subscription};
use store::SessionReader;

use crate::Error;

/// A session that this program runs. Dropping it ends everything in it, as a crash would; [`Session::leave`] is the
/// way to go on with it later.
#[derive(Debug)]
pub struct AgentSession(runtime::Session);

/// What the session's own agent answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptAnswer {
    /// Its last words.
    pub text: String,
    /// How it ended; none if it never began.
    pub outcome: Option<TaskOutcome>,
    /// The last event when it was at rest.
    pub seq: u64,
}

impl AgentSession {
    pub(crate) fn new(session: runtime::Session) -> AgentSession {
        AgentSession(session)
    }

    /// Its id, by which [`Bosun::resume`](crate::Bosun::resume) and `bosun --resume` find it again.
    pub fn id(&self) -> SessionId {
        self.0.id()
    }

    /// The task of its own agent.
    pub fn root(&self) -> TaskId {
        self.0.root()
    }

    /// Gives its own agent a message, and waits until nothing is left to do: its answer is there, and no agent works
    /// in the background.
    pub async fn prompt(&self, text: impl Into<String>) -> Result<PromptAnswer, Error> {
        self.send(text).await?;
        self.wait_until_idle().await
    }

    /// Gives its own agent a message, and goes on at once. An agent that works reads it before its next turn.
    pub async fn send(&self, text: impl Into<String>) -> Result<(), Error> {
        self.0.send(text, MailDelivery::FollowUp).await?;
        Ok(())
    }

    /// Waits until nothing is left to do.
    pub async fn wait_until_idle(&self) -> Result<PromptAnswer, Error> {
        let mut status = self.0.status();
        let is_over = |status: &SessionStatus| {
            let rests = status.root_is_at_rest() && status.background == 0 && !status.continuation_due;
            status.paused.is_some() || rests
        };
        let over = status.wait_for(is_over).await.map(|status| status.clone());
        let over = over.map_err(|_gone| Error::Paused("it has ended".into()))?;
        if let Some(why) = over.paused {
            return Err(Error::Paused(why.to_string()));
        }
        let root = self.task(self.root())?;
        Ok(PromptAnswer { text: root.result.unwrap_or_default(), outcome: root.last_outcome, seq: over.seq })
    }

    /// Everything that happens from the moment this program opened the session on, and words as models say them.
    pub fn events(&self) -> Subscription {
        self.events_after(self.0.first_seq())
    }

    /// Everything after an event, and then whatever happens. Events come in order and are never lost.
    pub fn events_after(&self, seq: u64) -> Subscription {
        self.0.subscribe(seq)
    }

    /// Starts an agent in the background. Its result reaches the session's own agent too.
    pub async fn spawn(&self, agent: StartAgentParams) -> Result<TaskId, Error> {
        self.0.start_agent(agent).await.map_err(Error::Agent)
    }

    /// Waits until a task rests or has ended; tells what it is then.
    pub async fn wait(&self, task: TaskId) -> Result<TaskView, Error> {
        let seen = self.0.status().borrow().seq;
        let mut events = self.0.subscribe(seen);
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
        SessionReader::open(self.0.home(), self.id())?.task(task)?.ok_or(Error::NoTask(task))
    }

    /// What waits for a decision, oldest first.
    pub fn asks(&self) -> Result<Vec<AskView>, Error> {
        Ok(SessionReader::open(self.0.home(), self.id())?.asks(false)?)
    }

    /// Decides on an ask.
    pub async fn decide(&self, ask: AskId, decision: AskDecision) -> Result<(), Error> {
        Ok(self.0.decide(DecideParams { ask, decision }).await?)
    }

    /// Goes on with another model, from the next turn on.
    pub async fn set_model(&self, model: &str) -> Result<(), Error> {
        Ok(self.0.set_model(model).await?)
    }

    /// Stops the running turn; the session stays.
    pub async fn interrupt(&self) -> Result<(), Error> {
        Ok(self.0.interrupt().await?)
    }

    /// Stops every task.
    pub async fn stop(&self) -> Result<(), Error> {
        Ok(self.0.stop(CancelBy::User).await?)
    }

    /// Ends this program's part: what runs is interrupted, and goes on when somebody resumes the session.
    pub async fn leave(self) -> Result<(), Error> {
        self.0.leave().await?;
        Ok(())
    }
}
