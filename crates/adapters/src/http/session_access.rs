//! How a session is reached: here, through the socket of the process that runs it, or by its file.

use std::time::Duration;

use protocol::SessionId;
use protocol::api::Method;
use rpc::RpcClient;
use serde_json::Value;
use store::SessionReader;

use super::problem::HttpProblem;
use super::running_sessions::{RunningSessions, SessionConnection};
use super::stored_session;

/// How a session is reached.
pub(super) enum SessionAccess {
    /// Somebody runs it.
    Live(SessionConnection),
    /// Nobody does.
    Stored(SessionReader),
}

impl RunningSessions {
    /// Finds a session, wherever it is.
    pub(super) async fn reach(&self, id: SessionId) -> Result<SessionAccess, HttpProblem> {
        if let Some(link) = self.connect_local(id).await {
            return Ok(SessionAccess::Live(link));
        }
        let reader = SessionReader::open(self.home(), id)?;
        let Some((_, owner)) = reader.lease()?.filter(|(_, owner)| owner.is_alive()) else {
            return Ok(SessionAccess::Stored(reader));
        };
        drop(reader);
        self.connect(id, owner.pid).await.map(SessionAccess::Live)
    }

    /// The same for a client that subscribes to events. It connects to the session's socket even if the session runs here,
    /// so that the events are read on the caller's thread and not on the thread that runs sessions.
    pub(super) async fn reach_to_watch(&self, id: SessionId) -> Result<SessionAccess, HttpProblem> {
        match self.is_running(id) {
            true => self.connect(id, std::process::id()).await.map(SessionAccess::Live),
            false => self.reach(id).await,
        }
    }

    async fn connect(&self, id: SessionId, owner: u32) -> Result<SessionConnection, HttpProblem> {
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
        patience: Duration,
    ) -> Result<Value, HttpProblem> {
        match self.reach(id).await? {
            SessionAccess::Live((client, _notifications)) => call(&client, method, params, patience).await,
            SessionAccess::Stored(reader) => {
                stored_session::answer_from_store(&reader, self.home(), id, method, params)
            }
        }
    }
}

/// Calls a method of a session that somebody runs.
pub(super) async fn call(
    client: &RpcClient,
    method: Method,
    params: Value,
    patience: Duration,
) -> Result<Value, HttpProblem> {
    let answer = tokio::time::timeout(patience, client.call::<Value>(method, params));
    answer.await.map_or_else(|_elapsed| Err(answer_timeout()), |answer| answer.map_err(HttpProblem::from))
}

fn answer_timeout() -> HttpProblem {
    HttpProblem::new(hyper::StatusCode::GATEWAY_TIMEOUT, "the session does not answer; what was asked may still happen")
        .remedy("look at the session with GET")
}
