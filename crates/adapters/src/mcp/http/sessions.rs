//! The sessions of clients over HTTP. A client names its session in a header; one that is not used for long is forgotten.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rpc::RequestId;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::mcp::session::McpSession;
use crate::token::AccessToken;

/// How many sessions there may be; the one that was used least recently gives way to the next.
const MAX_SESSIONS: usize = 256;

/// How long a session is kept without a request.
const IDLE_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// All sessions, by the names that their clients send.
#[derive(Debug, Default)]
pub(super) struct McpHttpSessions {
    sessions: Mutex<HashMap<String, Arc<McpHttpSession>>>,
}

/// A session over HTTP.
#[derive(Debug)]
pub(super) struct McpHttpSession {
    /// The session.
    pub(super) session: Arc<McpSession>,
    used_at: Mutex<Instant>,
    /// The number of the stream for messages that belong to no request; a new one ends the one before.
    stream: watch::Sender<u64>,
    /// The requests in progress.
    running: Mutex<HashMap<RequestId, CancellationToken>>,
}

impl McpHttpSessions {
    /// Adds a session; returns its name, or nothing if all sessions are in use.
    pub(super) fn add(&self, session: McpSession) -> io::Result<Option<String>> {
        let name = AccessToken::generate()?;
        let now = Instant::now();
        let mut sessions = self.lock();
        sessions.retain(|_, session| is_in_use(session) || session.idle_time(now) <= IDLE_TIME);
        if sessions.len() >= MAX_SESSIONS {
            let unused = sessions.iter().filter(|(_, session)| !is_in_use(session));
            let oldest = unused.min_by_key(|(_, session)| *lock(&session.used_at)).map(|(name, _)| name.clone());
            let Some(oldest) = oldest else { return Ok(None) };
            sessions.remove(&oldest);
        }
        let session = McpHttpSession {
            session: Arc::new(session),
            used_at: Mutex::new(now),
            stream: watch::Sender::new(0),
            running: Mutex::default(),
        };
        sessions.insert(name.clone(), Arc::new(session));
        Ok(Some(name))
    }

    /// The session with this name.
    pub(super) fn find(&self, name: &str) -> Option<Arc<McpHttpSession>> {
        let session = self.lock().get(name).cloned()?;
        *lock(&session.used_at) = Instant::now();
        Some(session)
    }

    /// Ends a session; returns whether there was one.
    pub(super) fn remove(&self, name: &str) -> bool {
        let removed = self.lock().remove(name);
        removed.inspect(|session| session.stream.send_modify(|number| *number += 1)).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<McpHttpSession>>> {
        lock(&self.sessions)
    }
}

fn is_in_use(session: &Arc<McpHttpSession>) -> bool {
    Arc::strong_count(session) > 1
}

impl McpHttpSession {
    /// Begins the stream for messages that belong to no request; the returned channel changes when it must end.
    pub(super) fn begin_stream(&self) -> watch::Receiver<u64> {
        self.stream.send_modify(|number| *number += 1);
        self.stream.subscribe()
    }

    /// Registers a request until the returned value is dropped.
    pub(super) fn begin_request(self: &Arc<Self>, id: &RequestId) -> RunningHttpRequest {
        let cancelled = CancellationToken::new();
        lock(&self.running).insert(id.clone(), cancelled.clone());
        RunningHttpRequest { session: Arc::clone(self), id: id.clone(), cancelled }
    }

    /// Cancels the request with this id.
    pub(super) fn cancel(&self, id: &serde_json::Value) {
        let running = lock(&self.running);
        let found = running.iter().find(|(running, _)| serde_json::Value::from((*running).clone()) == *id);
        if let Some((_, cancelled)) = found {
            cancelled.cancel();
        }
    }

    fn idle_time(&self, now: Instant) -> Duration {
        now.duration_since(*lock(&self.used_at))
    }
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct RunningHttpRequest {
    session: Arc<McpHttpSession>,
    id: RequestId,
    cancelled: CancellationToken,
}

impl RunningHttpRequest {
    /// Waits until the client cancels it.
    pub(super) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }
}

impl Drop for RunningHttpRequest {
    fn drop(&mut self) {
        lock(&self.session.running).remove(&self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
