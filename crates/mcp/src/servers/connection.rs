//! The connection to a server, and how long to wait before it is made again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::McpServer;

/// The delay before the second start in a row; each further one doubles it.
const FIRST_RESTART_DELAY: Duration = Duration::from_secs(1);

/// The longest delay before a start.
const MAX_RESTART_DELAY: Duration = Duration::from_secs(60);

/// A connection that lasted this long was a success, whatever ended it.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// The connection to a server.
#[derive(Debug)]
pub(super) enum ConnectionState {
    /// There is none; the last starts failed this often in a row.
    Disconnected(Failures),
    Connected(Connection),
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) server: Arc<McpServer>,
    pub(super) since: Instant,
    pub(super) listed: Option<ListedAt>,
    /// How often a connection was lost before this one.
    pub(super) failures: u32,
}

/// When the tools were listed, and how many changes the server had reported by then.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedAt {
    pub(super) time: Instant,
    pub(super) changes: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Failures {
    pub(super) count: u32,
    /// Why and until when no start is attempted.
    pub(super) pause: Option<(String, Instant)>,
}

impl ConnectionState {
    /// The server, if its tools were listed at most this long ago and have not changed since.
    pub(super) fn listed_server(&mut self, max_age: Duration) -> Option<Arc<McpServer>> {
        self.note_loss();
        let ConnectionState::Connected(connection) = self else { return None };
        let ListedAt { time, changes } = connection.listed?;
        let is_fresh = changes == connection.server.tool_changes() && time.elapsed() <= max_age;
        is_fresh.then(|| Arc::clone(&connection.server))
    }

    /// Disconnects from a server whose connection was lost.
    pub(super) fn note_loss(&mut self) {
        let ConnectionState::Connected(connection) = self else { return };
        let Some(why) = connection.server.closed() else { return };
        tracing::warn!(server = connection.server.name(), why, "the connection to an MCP server was lost");
        let count = if connection.since.elapsed() < STABLE_AFTER { connection.failures } else { 0 };
        *self = ConnectionState::Disconnected(Failures { count, pause: None }.after(&why));
    }
}

impl Failures {
    /// The state after one more failure. The first one is tried again at once.
    pub(super) fn after(&self, why: &str) -> Failures {
        let count = self.count.saturating_add(1);
        let doublings = count.saturating_sub(2).min(16);
        let delay = FIRST_RESTART_DELAY.saturating_mul(1 << doublings).min(MAX_RESTART_DELAY);
        let pause = (count > 1).then(|| (why.to_owned(), Instant::now() + delay));
        Failures { count, pause }
    }
}
