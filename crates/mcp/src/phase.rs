//! The connection to a server, as people see it.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use protocol::api::{McpServerIdentity, McpServerStatus};

use crate::McpServer;

/// How far the connection to a server is. It is read without waiting for a connection that is being made.
#[derive(Debug, Default)]
pub(crate) struct PhaseCell(Mutex<ServerPhase>);

#[derive(Debug, Clone, Default)]
enum ServerPhase {
    /// It has not been started, or was stopped on purpose.
    #[default]
    Idle,
    Starting,
    Connected(Weak<McpServer>),
    Failed {
        why: String,
        needs_auth: bool,
    },
}

/// What is known of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PhaseReport {
    pub(crate) status: McpServerStatus,
    pub(crate) error: Option<String>,
    pub(crate) identity: Option<McpServerIdentity>,
}

impl PhaseCell {
    pub(crate) fn stopped(&self) {
        self.set(ServerPhase::Idle);
    }

    pub(crate) fn starting(&self) {
        self.set(ServerPhase::Starting);
    }

    pub(crate) fn connected(&self, server: &Arc<McpServer>) {
        self.set(ServerPhase::Connected(Arc::downgrade(server)));
    }

    pub(crate) fn failed(&self, why: &str, needs_auth: bool) {
        self.set(ServerPhase::Failed { why: why.to_owned(), needs_auth });
    }

    pub(crate) fn report(&self) -> PhaseReport {
        let report = |status, error, identity| PhaseReport { status, error, identity };
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            ServerPhase::Idle => report(McpServerStatus::Ready, None, None),
            ServerPhase::Starting => report(McpServerStatus::Pending, None, None),
            ServerPhase::Failed { why, needs_auth: true } => report(McpServerStatus::NeedsAuth, Some(why), None),
            ServerPhase::Failed { why, needs_auth: false } => report(McpServerStatus::Failed, Some(why), None),
            ServerPhase::Connected(server) => match server.upgrade() {
                // A connection that was let go is made again when an agent needs it.
                None => report(McpServerStatus::Ready, None, None),
                Some(server) => match server.closed() {
                    Some(why) => report(McpServerStatus::Failed, Some(why), None),
                    None => report(McpServerStatus::Connected, None, server.identity().cloned()),
                },
            },
        }
    }

    fn set(&self, phase: ServerPhase) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }
}
