//! Drives an open session step by step.

use std::sync::Arc;
use std::time::Duration;

use protocol::api::{CommandFate, CommandOutcome, Method, SessionCommand, TaskView};
use protocol::{CancelBy, Envelope, Event, MailDelivery, SessionId};
use runtime::{
    BusMessage, FleetHandle, FleetOutcome, FleetRequest, InputRejection, Session, SessionStatus, Subscription,
};
use tokio::sync::watch;
use tokio::time::timeout;

use super::fixture::held;
use super::{CheckedModel, PlayedSession, SessionFixture, transcript};

/// Maximum wait for anything: far longer than it takes on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(20);

/// An open session, driven step by step.
#[derive(Debug)]
pub struct SessionDriver {
    stage: SessionFixture,
    session: Session,
    model: Arc<CheckedModel>,
    events: Subscription,
    status: watch::Receiver<SessionStatus>,
    seen: Vec<Envelope>,
}

impl SessionDriver {
    pub(super) fn new(stage: SessionFixture, session: Session, model: Arc<CheckedModel>) -> SessionDriver {
        let events = session.subscribe(session.first_seq());
        let status = session.status();
        SessionDriver { stage, session, model, events, status, seen: Vec::new() }
    }

    /// The session itself.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Its id.
    pub fn id(&self) -> SessionId {
        self.session.id()
    }

    /// Its fixture.
    pub fn stage(&self) -> &SessionFixture {
        &self.stage
    }

    /// The model with its requests.
    pub fn model(&self) -> &CheckedModel {
        &self.model
    }

    /// Sends the root a message, which must be accepted.
    pub async fn send(&self, text: &str, delivery: MailDelivery) {
        self.session.send(text, delivery).await.unwrap();
    }

    /// Sends a command as another process of the user would, and returns its outcome.
    pub async fn command(&self, command: &SessionCommand) -> CommandOutcome {
        let (client, _notifications) = self.session.connect().await.unwrap();
        match client.call(Method::SessionCommand, command).await.unwrap() {
            CommandFate::Answered { outcome } => outcome,
            fate @ (CommandFate::Queued | CommandFate::NothingToDo) => panic!("a running session answered {fate:?}"),
        }
    }

    /// Resumes interrupted work.
    pub async fn resume(&self) {
        self.session.resume().await.unwrap();
    }

    /// Starts a fleet, which must succeed.
    pub async fn fleet(&self, request: FleetRequest) -> FleetHandle {
        self.session.start_fleet(request).await.unwrap()
    }

    /// Resumes the session's fleet.
    pub async fn resume_fleet(&self) -> FleetHandle {
        self.session.resume_fleet(Vec::new()).await.unwrap()
    }

    /// Waits for a fleet's end.
    pub async fn fleet_ended(&self, fleet: &mut FleetHandle) -> FleetOutcome {
        timeout(DEADLINE, fleet.wait()).await.unwrap_or_else(|_late| self.give_up("the end of the fleet"))
    }

    /// Stops the running turn.
    pub async fn interrupt(&self) {
        self.session.interrupt().await.unwrap();
    }

    /// Stops every task.
    pub async fn stop(&self) -> Result<(), InputRejection> {
        self.session.stop(CancelBy::User).await
    }

    /// Its tasks, oldest first.
    pub fn tasks(&self) -> Vec<TaskView> {
        self.session.tasks().unwrap()
    }

    /// Waits for the next event that `wanted` accepts; later waits continue after it.
    pub async fn until(&mut self, what: &str, wanted: impl Fn(&Event) -> bool) -> Envelope {
        loop {
            let Ok(live) = timeout(DEADLINE, self.events.next()).await else { self.give_up(what) };
            let Some(live) = live.unwrap() else { self.give_up(what) };
            let BusMessage::Event(envelope) = live else { continue };
            self.seen.push((*envelope).clone());
            if wanted(&envelope.entry.event) {
                return Arc::unwrap_or_clone(envelope);
            }
        }
    }

    /// Waits until the model has had this many requests and begun to answer.
    pub async fn asked(&self, requests: usize) {
        let asked = timeout(DEADLINE, self.model.until_asked(requests)).await;
        asked.unwrap_or_else(|_late| self.give_up("a question to the model"));
    }

    /// Waits until `wanted` accepts the session's status.
    pub async fn until_status(&mut self, what: &str, wanted: impl Fn(&SessionStatus) -> bool) -> SessionStatus {
        let reached = timeout(DEADLINE, self.status.wait_for(|status| wanted(status))).await;
        let reached = reached.ok().and_then(Result::ok).map(|status| status.clone());
        reached.unwrap_or_else(|| self.give_up(what))
    }

    /// Waits until nothing is left to do.
    pub async fn rest(&mut self) {
        self.until_status("rest", |status| status.phase().is_over()).await;
    }

    /// Leaves the session as a process that is asked to end.
    pub async fn leave(self) -> PlayedSession {
        let (stage, id) = (self.stage, self.session.id());
        timeout(DEADLINE, self.session.leave()).await.unwrap_or_else(|_late| panic!("leaving takes too long")).unwrap();
        assert_eq!(held(stage.home(), id), None, "the lease was not given back");
        PlayedSession::read(stage, id)
    }

    /// Drops everything, as a killed process does, and makes the session available to the next owner.
    pub async fn crash(self) -> PlayedSession {
        let SessionDriver { stage, session, mut status, .. } = self;
        let id = session.id();
        drop(session);
        let gone = async { while status.changed().await.is_ok() {} };
        timeout(DEADLINE, gone).await.unwrap_or_else(|_late| panic!("the supervisor outlives its session"));
        stage.release(id);
        PlayedSession::read(stage, id)
    }

    fn give_up(&self, what: &str) -> ! {
        let seen = self.stage.plain(&transcript(&self.seen));
        let status = self.session.status().borrow().clone();
        panic!("timed out waiting for: {what}\nthe session is {status:?}; its events:\n{seen}");
    }
}
