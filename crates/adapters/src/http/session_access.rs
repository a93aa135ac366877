//! Access to a session: in this process, through the socket of its owner, or through its file.

use client::SessionHandle;
use protocol::SessionId;
use protocol::api::SessionView;
use rpc::{Notifications, RpcClient};
use server::SessionHost;

use super::problem::HttpProblem;

/// A connection to a session.
pub(super) type SessionConnection = (RpcClient, Notifications);

/// Connects to the process that runs a session, for a client that subscribes to events, and returns the number of the
/// last event before; none if no process runs it. Uses the session's socket even if the session runs here, so that the
/// events are read on the caller's thread and not on the thread that runs sessions.
pub(super) async fn connect_for_events(
    sessions: &SessionHost,
    id: SessionId,
) -> Result<Option<(SessionConnection, u64)>, HttpProblem> {
    let session = SessionHandle::new(sessions.home(), id);
    let SessionView { owner_pid, events, .. } = session.read(|session| Ok(session.view()?)).await?;
    let Some(pid) = owner_pid else { return Ok(None) };
    let connection = session.connect().await.map_err(|error| {
        HttpProblem::conflict(format!("process {pid} runs the session, but {error}"))
            .remedy("try again in a moment, or stop that process")
    });
    Ok(Some((connection?, events)))
}
