//! The sessions that run in this process. Each belongs to one background task, which receives commands for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use protocol::SessionId;
use rpc::{InProcessConnector, Notifications, RpcClient};
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
    /// Sessions are opened one at a time, so that no session is opened twice.
    opening: tokio::sync::Mutex<()>,
    channels: SessionChannels,
    session_tasks: TaskTracker,
    /// The runtime that sessions run on, which differs from the one that serves clients.
    session_runtime: Handle,
    closing: CancellationToken,
}

type SessionChannels = Arc<Mutex<HashMap<SessionId, SessionChannel>>>;

/// The way to a session that runs here.
#[derive(Debug, Clone)]
struct SessionChannel {
    /// To its task.
    commands: mpsc::Sender<SessionTaskCommand>,
    /// To its API.
    connector: InProcessConnector,
}

/// A command to a session's task.
#[derive(Debug)]
enum SessionTaskCommand {
    /// Close the session as soon as nothing runs in it.
    CloseWhenQuiet,
    /// Close the session now.
    Close(oneshot::Sender<()>),
}

/// How many commands may wait for a session's task.
const COMMAND_BUFFER: usize = 16;

impl RunningSessions {
    /// Sessions run on the runtime of the caller.
    pub(super) fn new(host: Arc<dyn SessionHost>, max_sessions: usize, closing: CancellationToken) -> RunningSessions {
        let opening = tokio::sync::Mutex::new(());
        let (channels, session_tasks, sessions) = (SessionChannels::default(), TaskTracker::new(), Handle::current());
        RunningSessions { host, max_sessions, opening, channels, session_tasks, session_runtime: sessions, closing }
    }

    pub(super) fn home(&self) -> &host::Home {
        self.host.home()
    }

    /// How many sessions run here.
    pub(super) fn count(&self) -> usize {
        lock_channels(&self.channels).len()
    }

    /// Opens a session here and resumes interrupted work in it. Opening finishes even if its client has left: a session
    /// without a task to hold it could not be reached.
    pub(super) async fn open(self: &Arc<Self>, request: OpenRequest) -> Result<SessionId, HttpProblem> {
        let sessions = Arc::clone(self);
        let opening = async move { sessions.open_here(request).await };
        self.session_tasks.spawn_on(opening, &self.session_runtime).await.map_err(HttpProblem::internal)?
    }

    async fn open_here(&self, request: OpenRequest) -> Result<SessionId, HttpProblem> {
        let _guard = self.opening.lock().await;
        if self.closing.is_cancelled() {
            return Err(HttpProblem::conflict("the server is shutting down").remedy("start it again"));
        }
        if let SessionStart::Resume(id) = request.start
            && self.channel(id).is_some()
        {
            return Ok(id);
        }
        if self.count() >= self.max_sessions {
            let detail = format!("the limit of {} running sessions is reached", self.max_sessions);
            return Err(HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, detail)
                .remedy("stop one: POST /v1/sessions/{session}/stop"));
        }
        let start = request.start;
        let session = self.host.open(request).await?;
        let id = session.id();
        let resumed = match start {
            SessionStart::Resume(_) => session.resume().await,
            SessionStart::New | SessionStart::Fork(_) => Ok(()),
        };
        let (sender, commands) = mpsc::channel(COMMAND_BUFFER);
        let channel = SessionChannel { commands: sender, connector: session.in_process_connector() };
        lock_channels(&self.channels).insert(id, channel);
        // `open` runs this on the runtime of sessions.
        self.session_tasks.spawn(run_session(session, commands, Arc::clone(&self.channels), self.closing.clone()));
        resumed.map(|()| id).map_err(HttpProblem::internal)
    }

    /// The way to the API of a session, if it runs here.
    pub(super) fn connector(&self, id: SessionId) -> Option<InProcessConnector> {
        self.channel(id).map(|channel| channel.connector)
    }

    /// Closes a session as soon as nothing runs in it.
    pub(super) async fn close_when_quiet(&self, id: SessionId) {
        if let Some(channel) = self.channel(id) {
            // Fails if the task has ended and thus closed the session.
            channel.commands.send(SessionTaskCommand::CloseWhenQuiet).await.ok();
        }
    }

    /// Closes a session now, if it runs here, and waits until it is closed.
    pub(super) async fn close(&self, id: SessionId) {
        let (reply, closed) = oneshot::channel();
        if let Some(channel) = self.channel(id)
            && channel.commands.send(SessionTaskCommand::Close(reply)).await.is_ok()
        {
            closed.await.ok();
        }
    }

    /// Waits until every session is closed. The caller must have cancelled `closing`.
    pub(super) async fn wait_until_empty(&self) {
        let _guard = self.opening.lock().await;
        self.session_tasks.close();
        self.session_tasks.wait().await;
    }

    fn channel(&self, id: SessionId) -> Option<SessionChannel> {
        lock_channels(&self.channels).get(&id).cloned()
    }
}

fn lock_channels(channels: &SessionChannels) -> MutexGuard<'_, HashMap<SessionId, SessionChannel>> {
    channels.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nothing runs in a session. A paused session has stopped, but never reports that it is quiet.
async fn wait_until_quiet(status: &mut watch::Receiver<SessionStatus>) {
    // A closed channel counts as quiet.
    let _over = status.wait_for(|status| status.phase().is_over()).await.is_err();
}

/// Holds one session until a command or the end of the server closes it.
async fn run_session(
    session: Session,
    mut commands: mpsc::Receiver<SessionTaskCommand>,
    channels: SessionChannels,
    closing: CancellationToken,
) {
    let id = session.id();
    let mut status = session.status();
    let mut retiring = false;
    let leave_reply = loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(SessionTaskCommand::CloseWhenQuiet) => retiring = true,
                Some(SessionTaskCommand::Close(reply)) => break Some(reply),
                None => break None,
            },
            () = wait_until_quiet(&mut status), if retiring => break None,
            () = closing.cancelled() => break None,
        }
    };
    if let Err(error) = session.leave().await {
        tracing::warn!(%error, %id, "cannot close the session cleanly");
    }
    lock_channels(&channels).remove(&id);
    if let Some(reply) = leave_reply {
        // Fails if the client no longer waits.
        reply.send(()).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::TaskState;

    use super::*;

    #[tokio::test]
    async fn a_session_on_autopilot_is_not_quiet_between_two_steps() {
        let idle = SessionStatus { quiet: true, root: Some(TaskState::Idle), ..SessionStatus::default() };
        let due = SessionStatus { continuation_due: true, ..idle.clone() };
        let (sender, mut status) = watch::channel(due);
        let is_quiet = tokio::select! {
            biased;
            () = wait_until_quiet(&mut status) => true,
            () = std::future::ready(()) => false,
        };
        assert!(!is_quiet, "the root is about to be told to continue");
        sender.send_replace(idle);
        tokio::time::timeout(Duration::from_secs(20), wait_until_quiet(&mut status)).await.unwrap();
    }
}
