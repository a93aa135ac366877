//! Access to a session: in this process, through the socket of its owner, or through its file.

use std::time::Duration;

use protocol::SessionId;
use protocol::api::Method;
use rpc::RpcClient;
use serde_json::Value;
use store::SessionReader;

use super::problem::HttpProblem;
use super::running_sessions::{RunningSessions, SessionConnection};
use super::stored_session;

/// Access to a session.
pub(super) enum SessionAccess {
    /// A process runs it.
    Live(SessionConnection),
    /// No process runs it.
    Stored(SessionReader),
}

impl RunningSessions {
    /// Finds a session, whether it runs here, in another process, or not at all.
    pub(super) async fn find(&self, id: SessionId) -> Result<SessionAccess, HttpProblem> {
        if let Some(connection) = self.connect_local(id).await {
            return Ok(SessionAccess::Live(connection));
        }
        let reader = SessionReader::open(self.home(), id)?;
        let Some((_, owner)) = reader.lease()?.filter(|(_, owner)| owner.is_alive()) else {
            return Ok(SessionAccess::Stored(reader));
        };
        drop(reader);
        self.connect_socket(id, owner.pid).await.map(SessionAccess::Live)
    }

    /// Finds a session for a client that subscribes to events. Unlike `find`, this uses the session's socket even if
    /// the session runs here, so that the events are read on the caller's thread and not on the thread that runs
    /// sessions.
    pub(super) async fn find_for_events(&self, id: SessionId) -> Result<SessionAccess, HttpProblem> {
        match self.is_running(id) {
            true => self.connect_socket(id, std::process::id()).await.map(SessionAccess::Live),
            false => self.find(id).await,
        }
    }

    async fn connect_socket(&self, id: SessionId, owner: u32) -> Result<SessionConnection, HttpProblem> {
        RpcClient::connect(&self.home().socket(id)).await.map_err(|error| {
            HttpProblem::conflict(format!("process {owner} runs the session, but {error}"))
                .remedy("try again in a moment, or stop that process")
        })
    }

    /// Calls a method of a session.
    pub(super) async fn call(
        &self,
        id: SessionId,
        method: Method,
        params: Value,
        timeout: Duration,
    ) -> Result<Value, HttpProblem> {
        match self.find(id).await? {
            SessionAccess::Live((client, _notifications)) => call(&client, method, params, timeout).await,
            SessionAccess::Stored(reader) => {
                stored_session::answer_from_store(&reader, self.home(), id, method, params)
            }
        }
    }
}

/// Calls a method of a running session.
pub(super) async fn call(
    client: &RpcClient,
    method: Method,
    params: Value,
    timeout: Duration,
) -> Result<Value, HttpProblem> {
    let answer = tokio::time::timeout(timeout, client.call::<Value>(method, params));
    answer.await.map_or_else(|_elapsed| Err(answer_timeout()), |answer| answer.map_err(HttpProblem::from))
}

fn answer_timeout() -> HttpProblem {
    HttpProblem::new(hyper::StatusCode::GATEWAY_TIMEOUT, "the session does not answer; the request may still succeed")
        .remedy("check the session with GET")
}
