//! Sessions that this process runs. Their clients share the owner's events, and call it without a connection.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use host::Home;
use protocol::SessionId;
use protocol::api::StatusView;
use rpc::InProcessConnector;
use store::StoreError;

use crate::SessionMessage;

/// A session that this process runs, as its owner offers it to clients.
pub trait InProcessSession: fmt::Debug + Send + Sync {
    /// The folder of all sessions.
    fn home(&self) -> &Home;

    /// The session.
    fn id(&self) -> SessionId;

    /// Calls its API.
    fn connector(&self) -> &InProcessConnector;

    /// The messages after a sequence number. With a pause, messages that arrive within it are returned together.
    fn messages(&self, after: u64, pause: Duration) -> Box<dyn InProcessMessages>;

    /// Why the session cannot continue, if it cannot.
    fn pause_reason(&self) -> Option<Arc<StoreError>>;
}

/// The next message of a session; none once its owner has left it and every event was returned.
pub type NextMessage<'a> = Pin<Box<dyn Future<Output = Result<Option<SessionMessage>, StoreError>> + Send + 'a>>;

/// The messages of a session that this process runs: every event once and in order, streamed text, and each status after
/// the events that led to it.
pub trait InProcessMessages: fmt::Debug + Send + Sync {
    /// The next message. Dropping the future loses nothing.
    fn next(&mut self) -> NextMessage<'_>;

    /// The status now, which may be ahead of the messages that were returned.
    fn status(&self) -> StatusView;
}
