//! Access to a session: in this process, through the socket of its owner, or through its file.

use std::time::Duration;

use client::SessionHandle;
use protocol::SessionId;
use protocol::api::{Method, SessionView};
use serde_json::Value;

use super::problem::HttpProblem;
use super::running_sessions::{RunningSessions, SessionConnection};

impl RunningSessions {
    /// A session, whether it runs here, in another process, or not at all.
    pub(super) fn handle(&self, id: SessionId) -> SessionHandle {
        match self.connector(id) {
            Some(connector) => SessionHandle::in_process(self.home(), id, connector),
            None => SessionHandle::new(self.home(), id),
        }
    }

    /// Calls a method of a session.
    pub(super) async fn call(
        &self,
        id: SessionId,
        method: Method,
        params: Value,
        timeout: Duration,
    ) -> Result<Value, HttpProblem> {
        Ok(self.handle(id).call_value(method, params, timeout).await?)
    }

    /// Connects to the process that runs a session, for a client that subscribes to events, and returns the number of
    /// the last event before; none if no process runs it. Uses the session's socket even if the session runs here, so
    /// that the events are read on the caller's thread and not on the thread that runs sessions.
    pub(super) async fn connect_for_events(
        &self,
        id: SessionId,
    ) -> Result<Option<(SessionConnection, u64)>, HttpProblem> {
        let session = SessionHandle::new(self.home(), id);
        let SessionView { owner_pid, events, .. } = session.read(|stored| Ok(stored.view()?)).await?;
        let Some(pid) = owner_pid else { return Ok(None) };
        let connection = session.connect().await.map_err(|error| {
            HttpProblem::conflict(format!("process {pid} runs the session, but {error}"))
                .remedy("try again in a moment, or stop that process")
        });
        Ok(Some((connection?, events)))
    }
}
