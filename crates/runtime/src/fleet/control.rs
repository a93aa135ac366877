//! Passes the requests for fleets from their entry points to the task that runs the session's fleets.

use std::fmt::Debug;
use std::path::PathBuf;

use tokio::sync::{mpsc, oneshot, watch};
use tools::BoxFuture;

use super::{FleetError, FleetHandle, FleetRequest, FleetSession};
use crate::supervisor::InputRejection;

/// How many requests may wait.
const MAX_WAITING_REQUESTS: usize = 16;

/// Runs the fleets of sessions.
pub trait FleetRunner: Send + Sync + Debug {
    /// Serves the requests of a session, one fleet at a time, until the queue ends.
    fn run(&self, session: FleetSession, queue: FleetQueue) -> BoxFuture<'static, ()>;
}

/// The requests for fleets of one session.
#[derive(Debug)]
pub struct FleetQueue {
    requests: mpsc::Receiver<RequestedFleet>,
    latest: watch::Sender<Option<FleetHandle>>,
}

/// A request for a fleet, which waits for an answer.
#[derive(Debug)]
pub struct RequestedFleet {
    /// The fleet.
    pub wanted: WantedFleet,
    /// Where the answer goes.
    pub reply: FleetReply,
}

/// Takes the answer to a request for a fleet.
#[derive(Debug)]
pub struct FleetReply(oneshot::Sender<Result<FleetHandle, FleetError>>);

/// Which fleet is wanted.
#[derive(Debug)]
pub enum WantedFleet {
    /// A new one.
    New(Box<FleetRequest>),
    /// The session's latest, whose result cache ignores changes to these files.
    Latest(Vec<PathBuf>),
}

impl FleetQueue {
    /// The next request; nothing when the session has ended.
    pub async fn next(&mut self) -> Option<RequestedFleet> {
        self.requests.recv().await
    }

    /// Makes this the latest fleet of the session in this process.
    pub fn set_latest(&self, fleet: FleetHandle) {
        self.latest.send_replace(Some(fleet));
    }
}

impl FleetReply {
    /// Answers the request. The requester may be gone; the fleet works all the same.
    pub fn send(self, answer: Result<FleetHandle, FleetError>) {
        let _gone = self.0.send(answer);
    }
}

/// Starts and resumes the session's fleets.
#[derive(Debug, Clone)]
pub(crate) struct FleetControl {
    /// `None` if the session has no runner.
    requests: Option<mpsc::Sender<RequestedFleet>>,
    latest: watch::Receiver<Option<FleetHandle>>,
}

impl FleetControl {
    /// The control of a session with a runner, and the queue for the runner.
    pub(crate) fn new() -> (FleetControl, FleetQueue) {
        let (sender, requests) = mpsc::channel(MAX_WAITING_REQUESTS);
        let (latest_sender, latest) = watch::channel(None);
        (FleetControl { requests: Some(sender), latest }, FleetQueue { requests, latest: latest_sender })
    }

    /// The control of a session without a runner: it refuses every fleet.
    pub(crate) fn without_runner() -> FleetControl {
        FleetControl { requests: None, latest: watch::channel(None).1 }
    }

    /// Starts a fleet, which works until no todo is left that it can do. A request without a goal and a plan continues
    /// an unfinished fleet.
    pub(crate) async fn start(&self, request: FleetRequest) -> Result<FleetHandle, FleetError> {
        self.request(WantedFleet::New(Box::new(request))).await
    }

    /// Resumes the session's latest fleet. An ended fleet starts again with its configuration and blocked todos.
    pub(crate) async fn resume(&self, excluded: Vec<PathBuf>) -> Result<FleetHandle, FleetError> {
        self.request(WantedFleet::Latest(excluded)).await
    }

    /// The latest fleet that this process has driven.
    pub(crate) fn latest(&self) -> Option<FleetHandle> {
        self.latest.borrow().clone()
    }

    async fn request(&self, wanted: WantedFleet) -> Result<FleetHandle, FleetError> {
        let requests = self.requests.as_ref().ok_or(FleetError::NoRunner)?;
        let (reply, answer) = oneshot::channel();
        let gone = || FleetError::from(InputRejection::SessionEnded);
        requests.send(RequestedFleet { wanted, reply: FleetReply(reply) }).await.map_err(|_gone| gone())?;
        answer.await.map_err(|_gone| gone())?
    }
}
