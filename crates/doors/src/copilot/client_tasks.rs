//! Tasks that a client runs itself and only reports on.

/// The tasks of a session's clients.
#[derive(Debug, Default)]
pub(crate) struct ClientTasks {}
