//! The interface to the process that keeps sessions. The program that serves clients knows how to start it.

use protocol::SessionOptions;
use protocol::api::{BeginFleetParams, SessionView};
use runtime::SessionStart;
use server::OpenRefusal;

use crate::mcp::McpFuture;

/// Begins sessions in the session host, which is started if there is none.
pub trait BackgroundSessions: Send + Sync + 'static {
    /// Begins, resumes or forks a session, and sends the prompt of the options.
    fn begin(&self, start: SessionStart, options: SessionOptions) -> McpFuture<'_, Result<SessionView, OpenRefusal>>;

    /// Begins a session with a fleet.
    fn begin_fleet(&self, request: BeginFleetParams) -> McpFuture<'_, Result<SessionView, OpenRefusal>>;

    /// Starts the session host, which resumes the sessions that an earlier one kept, unless one runs.
    fn ensure_host(&self) -> McpFuture<'_, Result<(), OpenRefusal>>;
}
