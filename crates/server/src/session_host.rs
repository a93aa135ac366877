//! The sessions that this process runs for others.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client::SessionHandle;
use host::Home;
use protocol::SessionId;
use runtime::{InputRejection, SessionStart};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{HeldSession, KeepMode, OpenRefusal, OpenRequest, SessionOpener};

/// Opens, holds and closes sessions for clients.
pub struct SessionHost {
    opener: Arc<dyn SessionOpener>,
    max_sessions: usize,
    /// Sessions are opened one at a time, so that no session is opened twice.
    opening: tokio::sync::Mutex<()>,
    held: HeldSessions,
    tasks: TaskTracker,
    /// The runtime that sessions run on, which may differ from the one that serves clients.
    runtime: Handle,
    closing: CancellationToken,
}

type HeldSessions = Arc<Mutex<HashMap<SessionId, HeldSession>>>;

/// Why a session is not held.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The host is shutting down.
    #[error("the server is shutting down")]
    Closing,
    /// The host holds as many sessions as it may.
    #[error("the limit of {0} running sessions is reached")]
    Full(usize),
    /// The session could not be opened.
    #[error(transparent)]
    Refused(#[from] OpenRefusal),
    /// Its interrupted work could not be resumed.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    /// The task that opened the session failed unexpectedly.
    #[error("the session was not opened: {0}")]
    Failed(String),
}

impl fmt::Debug for SessionHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionHost").field("held", &self.held).finish_non_exhaustive()
    }
}

impl SessionHost {
    /// A host that holds at most `max_sessions` sessions, which run on the runtime of the caller.
    pub fn new(opener: Arc<dyn SessionOpener>, max_sessions: usize) -> Arc<SessionHost> {
        Arc::new(SessionHost {
            opener,
            max_sessions,
            opening: tokio::sync::Mutex::new(()),
            held: HeldSessions::default(),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            closing: CancellationToken::new(),
        })
    }

    /// What opens the sessions.
    pub fn opener(&self) -> &dyn SessionOpener {
        &*self.opener
    }

    /// Where sessions are stored.
    pub fn home(&self) -> &Home {
        self.opener.home()
    }

    /// How many sessions are held.
    pub fn count(&self) -> usize {
        self.lock_held().len()
    }

    /// A session that is held.
    pub fn find(&self, id: SessionId) -> Option<HeldSession> {
        self.lock_held().get(&id).cloned()
    }

    /// Any session, whether it is held here, runs in another process, or does not run.
    pub fn handle(&self, id: SessionId) -> SessionHandle {
        match self.find(id) {
            Some(held) => SessionHandle::in_process(self.home(), id, held.connector()),
            None => SessionHandle::new(self.home(), id),
        }
    }

    /// Opens a session and holds it until it is closed. Interrupted work stays interrupted until
    /// [`HeldSession::resume`].
    pub async fn open(self: &Arc<Self>, request: OpenRequest) -> Result<HeldSession, HostError> {
        let host = Arc::clone(self);
        self.detached(async move { host.open_here(request).await }).await
    }

    /// Opens a session, holds it until it is closed, and resumes its interrupted work.
    pub async fn open_and_resume(self: &Arc<Self>, request: OpenRequest) -> Result<HeldSession, HostError> {
        let host = Arc::clone(self);
        let opening = async move {
            let start = request.start;
            let held = host.open_here(request).await?;
            match start {
                SessionStart::Resume(_) => held.resume().await?,
                SessionStart::New | SessionStart::Fork(_) => {}
            }
            Ok(held)
        };
        self.detached(opening).await
    }

    /// Finishes the work even if its client has left: a session without a task to hold it could not be reached.
    async fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, HostError>> + Send + 'static,
    ) -> Result<T, HostError> {
        let done = self.tasks.spawn_on(work, &self.runtime).await;
        done.unwrap_or_else(|failed| Err(HostError::Failed(failed.to_string())))
    }

    async fn open_here(&self, request: OpenRequest) -> Result<HeldSession, HostError> {
        let _guard = self.opening.lock().await;
        if self.closing.is_cancelled() {
            return Err(HostError::Closing);
        }
        if let SessionStart::Resume(id) = request.start
            && let Some(held) = self.find(id)
        {
            if held.keep(KeepMode::UntilClosed).await {
                return Ok(held);
            }
            held.closed().await;
        }
        if self.count() >= self.max_sessions {
            return Err(HostError::Full(self.max_sessions));
        }
        let (held, task) = HeldSession::new(self.opener.open(request).await?);
        let id = held.id();
        self.lock_held().insert(id, held.clone());
        let sessions = Arc::clone(&self.held);
        let released = move |_end| drop(lock(&sessions).remove(&id));
        self.tasks.spawn_on(task.run(self.closing.clone(), released), &self.runtime);
        Ok(held)
    }

    /// Closes every session and waits until they are closed: running work is interrupted and can be resumed. No session
    /// is opened from now on.
    pub async fn shut_down(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn lock_held(&self) -> MutexGuard<'_, HashMap<SessionId, HeldSession>> {
        lock(&self.held)
    }
}

fn lock(held: &HeldSessions) -> MutexGuard<'_, HashMap<SessionId, HeldSession>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
