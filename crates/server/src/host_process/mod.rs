//! The process that keeps sessions which no terminal holds: it answers clients on a socket, and ends when it is asked to
//! or has had nothing to do for a while.

mod control;

use std::sync::Arc;
use std::time::Duration;

use host::{FileLock, Home};
use protocol::Timestamp;
use protocol::api::{HttpEndpoint, ProgramFile};
use rpc::InProcessConnector;
use rpc::local::ListenError;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{HostEnd, SessionHost};
use control::HostControl;

/// How often the host looks whether its socket still exists.
const SOCKET_CHECK: Duration = Duration::from_secs(5);

/// The name of the lock that the one host of a home holds.
pub const HOST_LOCK: &str = "host";

/// What clients learn about a host process.
#[derive(Debug, Clone)]
pub struct HostDescription {
    /// Its version of Bosun.
    pub version: &'static str,
    /// The program that it runs.
    pub program: ProgramFile,
    /// When it started.
    pub started_at: Timestamp,
    /// Its HTTP server, if it has one.
    pub http: Option<HttpEndpoint>,
}

/// A host process that answers clients on its socket.
#[derive(Debug)]
pub struct HostProcess {
    sessions: Arc<SessionHost>,
    requests: mpsc::Receiver<HostEnd>,
    serving: JoinSet<()>,
    closing: CancellationToken,
    /// Clients in this process could use it; dropping it changes nothing for those on the socket.
    _connector: InProcessConnector,
    /// Released last, so that the next host starts when every session is free.
    _lock: FileLock,
}

impl HostProcess {
    /// Starts answering clients. The caller holds the home's [`HOST_LOCK`].
    pub async fn start(
        lock: FileLock,
        sessions: Arc<SessionHost>,
        description: HostDescription,
    ) -> Result<HostProcess, ListenError> {
        let listener = rpc::local::listen(&sessions.home().host_socket(), runtime::acts_for_user).await?;
        let (sender, requests) = mpsc::channel(1);
        let control = Arc::new(HostControl::new(Arc::clone(&sessions), description, sender));
        let (connector, connections) = InProcessConnector::new();
        let closing = CancellationToken::new();
        let mut serving = JoinSet::new();
        serving.spawn(rpc::serve(Some(listener), connections, control, closing.clone()));
        Ok(HostProcess { sessions, requests, serving, closing, _connector: connector, _lock: lock })
    }

    /// Runs until a client asks the host to end, until it has had nothing to do for `idle_after`, or until its socket is
    /// gone, for example because the home was removed: nobody could reach it any more.
    pub async fn run(&mut self, idle_after: Option<Duration>) -> HostEnd {
        tokio::select! {
            Some(end) = self.requests.recv() => end,
            () = self.sessions.idle(idle_after) => HostEnd::Idle,
            () = socket_gone(self.sessions.home()) => HostEnd::Terminated,
        }
    }

    /// Closes every session, then the socket; the lock is released at the end.
    pub async fn shut_down(mut self, end: HostEnd) {
        self.sessions.set_end(end);
        self.sessions.shut_down().await;
        self.closing.cancel();
        while self.serving.join_next().await.is_some() {}
    }
}

/// Waits until the host's socket does not exist any more.
async fn socket_gone(home: &Home) {
    let socket = home.host_socket();
    while socket.exists() {
        tokio::time::sleep(SOCKET_CHECK).await;
    }
    tracing::warn!(socket = %socket.display(), "the host ends because its socket was removed");
}
