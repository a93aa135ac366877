//! The sessions that run in this process. Each has a keeper, who alone holds it and hears wishes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use protocol::SessionId;
use rpc::{Notifications, RpcClient};
use runtime::{Session, SessionStart, SessionStatus};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::problem::HttpProblem;
use crate::{OpenRequest, SessionHost};

/// A connection to a session.
pub(super) type SessionConnection = (RpcClient, Notifications);

/// The sessions that run in this process.
pub(super) struct RunningSessions {
    host: Arc<dyn SessionHost>,
    max_sessions: usize,
    /// One is opened at a time, so that nobody opens what another is about to.
    opening: tokio::sync::Mutex<()>,
    channels: SessionChannels,
    session_tasks: TaskTracker,
    /// Where sessions run, and not those who ask for them.
    sessions: Handle,
    closing: CancellationToken,
}

type SessionChannels = Arc<Mutex<HashMap<SessionId, mpsc::Sender<SessionTaskCommand>>>>;

/// What a keeper is asked for.
enum SessionTaskCommand {
    /// A connection.
    Connect(oneshot::Sender<SessionConnection>),
    /// To leave the session once nothing runs in it any more.
    Retire,
    /// To leave the session now.
    Leave(oneshot::Sender<()>),
}

/// How many wishes wait for a keeper.
const WISHES: usize = 16;

impl RunningSessions {
    /// Sessions run where this is called.
    pub(super) fn new(session_host: Arc<dyn SessionHost>, most: usize, closing: CancellationToken) -> RunningSessions {
        let opening = tokio::sync::Mutex::new(());
        let (rooms, keepers, sessions) = (SessionChannels::default(), TaskTracker::new(), Handle::current());
        RunningSessions {
            host: session_host,
            max_sessions: most,
            opening,
            channels: rooms,
            session_tasks: keepers,
            sessions,
            closing,
        }
    }

    pub(super) fn home(&self) -> &host::Home {
        self.host.home()
    }

    /// How many sessions run here.
    pub(super) fn count(&self) -> usize {
        lock_channels(&self.channels).len()
    }

    /// Opens a session here. What was interrupted in one that goes on goes on. A session that is being opened is opened,
    /// even if its client has left: one that nobody keeps could not be reached by anybody.
    pub(super) async fn open(
        self: &Arc<Self>,
        order: OpenRequest,
    ) -> Result<(SessionId, SessionConnection), HttpProblem> {
        let hall = Arc::clone(self);
        let taken_in = async move { hall.open_here(order).await };
        self.session_tasks.spawn_on(taken_in, &self.sessions).await.map_err(HttpProblem::internal)?
    }

    async fn open_here(&self, order: OpenRequest) -> Result<(SessionId, SessionConnection), HttpProblem> {
        let _turn = self.opening.lock().await;
        if self.closing.is_cancelled() {
            return Err(HttpProblem::conflict("the server is about to end").remedy("start it again"));
        }
        if let SessionStart::Resume(id) = order.start
            && let Some(link) = self.connect_local(id).await
        {
            return Ok((id, link));
        }
        if self.count() >= self.max_sessions {
            let detail = format!("{} sessions run here already, and that is the limit", self.max_sessions);
            return Err(HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, detail)
                .remedy("stop one: POST /v1/sessions/{session}/stop"));
        }
        let start = order.start;
        let session = self.host.open(order).await?;
        let id = session.id();
        let resumed = match start {
            SessionStart::Resume(_) => session.resume().await,
            SessionStart::New | SessionStart::Fork(_) => Ok(()),
        };
        let link = session.connect().await;
        let (room, wishes) = mpsc::channel(WISHES);
        lock_channels(&self.channels).insert(id, room);
        // This runs where sessions do.
        self.session_tasks.spawn(run_session(session, wishes, Arc::clone(&self.channels), self.closing.clone()));
        resumed.map_err(HttpProblem::internal)?;
        Ok((id, link.map_err(HttpProblem::internal)?))
    }

    /// A connection to a session, if it runs here.
    pub(super) async fn connect_local(&self, id: SessionId) -> Option<SessionConnection> {
        let (reply, link) = oneshot::channel();
        self.channel(id)?.send(SessionTaskCommand::Connect(reply)).await.ok()?;
        link.await.ok()
    }

    /// Leaves a session once nothing runs in it any more.
    pub(super) async fn retire(&self, id: SessionId) {
        if let Some(room) = self.channel(id) {
            // A keeper who is gone has left it.
            room.send(SessionTaskCommand::Retire).await.ok();
        }
    }

    /// Leaves a session now, if it runs here, and waits until that is done.
    pub(super) async fn leave(&self, id: SessionId) {
        let (reply, left) = oneshot::channel();
        if let Some(room) = self.channel(id)
            && room.send(SessionTaskCommand::Leave(reply)).await.is_ok()
        {
            left.await.ok();
        }
    }

    /// Waits until every session is left. Whoever closes the adapter has cancelled its token.
    pub(super) async fn wait_until_empty(&self) {
        let _turn = self.opening.lock().await;
        self.session_tasks.close();
        self.session_tasks.wait().await;
    }

    /// Whether a session runs here.
    pub(super) fn is_running(&self, id: SessionId) -> bool {
        self.channel(id).is_some()
    }

    fn channel(&self, id: SessionId) -> Option<mpsc::Sender<SessionTaskCommand>> {
        lock_channels(&self.channels).get(&id).cloned()
    }
}

fn lock_channels(rooms: &SessionChannels) -> MutexGuard<'_, HashMap<SessionId, mpsc::Sender<SessionTaskCommand>>> {
    rooms.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nothing runs in a session any more. One that is paused has stopped, and will not say that it is quiet.
async fn wait_until_quiet(status: &mut watch::Receiver<SessionStatus>) {
    // A session that says nothing any more is quiet.
    let _over = status.wait_for(|status| status.quiet || status.paused.is_some()).await.is_err();
}

/// Keeps one session until somebody wants it left.
async fn run_session(
    session: Session,
    mut wishes: mpsc::Receiver<SessionTaskCommand>,
    all: SessionChannels,
    closing: CancellationToken,
) {
    let id = session.id();
    let mut status = session.status();
    let mut retiring = false;
    let wanted = loop {
        tokio::select! {
            wish = wishes.recv() => match wish {
                Some(SessionTaskCommand::Connect(reply)) => match session.connect().await {
                    // Whoever asked may have lost patience.
                    Ok(link) => drop(reply.send(link)),
                    Err(error) => tracing::warn!(%error, "the session cannot be reached"),
                },
                Some(SessionTaskCommand::Retire) => retiring = true,
                Some(SessionTaskCommand::Leave(reply)) => break Some(reply),
                None => break None,
            },
            () = wait_until_quiet(&mut status), if retiring => break None,
            () = closing.cancelled() => break None,
        }
    };
    if let Err(error) = session.leave().await {
        tracing::warn!(%error, %id, "the session was not left as it should be");
    }
    lock_channels(&all).remove(&id);
    if let Some(reply) = wanted {
        // Whoever wanted it may have lost patience.
        reply.send(()).ok();
    }
}
