//! Why a client has no answer.

use protocol::SessionId;
use rpc::{CallError, ConnectionClosed, ErrorObject};
use store::{StoreError, TodoError};

/// Why a request to a session has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The session's file, or the index of sessions, cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The todos of a session that rests cannot be changed in this way.
    #[error(transparent)]
    Todos(TodoError),
    /// The request was refused, and changed nothing.
    #[error("{0}")]
    Refused(ErrorObject),
    /// Only a process that runs the session could do it.
    #[error("session {0} is not running")]
    NotRunning(SessionId),
    /// A process runs the session and does not answer.
    #[error("process {pid} runs the session and does not answer: {why}")]
    NoAnswer {
        /// The process.
        pid: u32,
        /// The reason, as far as it is known.
        why: String,
    },
    /// The process that runs the session ended first; whether the request took effect is unknown.
    #[error("process {pid} ended before it answered; it may not have received the command: {closed}")]
    Ended {
        /// The process.
        pid: u32,
        /// Why the connection ended.
        closed: ConnectionClosed,
    },
    /// The request or its answer cannot be sent or read.
    #[error(transparent)]
    Call(CallError),
    /// No session begins with these characters.
    #[error("no session begins with `{prefix}`")]
    NoSession {
        /// The characters.
        prefix: String,
    },
    /// Several sessions begin with these characters.
    #[error("several sessions begin with `{prefix}`: {}", format_ids(ids))]
    Ambiguous {
        /// The characters.
        prefix: String,
        /// The first of these sessions.
        ids: Vec<SessionId>,
    },
}

impl From<TodoError> for ClientError {
    fn from(error: TodoError) -> ClientError {
        match error {
            TodoError::Store(error) => ClientError::Store(error),
            error => ClientError::Todos(error),
        }
    }
}

impl From<ClientError> for ErrorObject {
    fn from(error: ClientError) -> ErrorObject {
        match error {
            ClientError::Refused(object) => object,
            error => ErrorObject::internal(error),
        }
    }
}

fn format_ids(ids: &[SessionId]) -> String {
    ids.iter().map(SessionId::to_string).collect::<Vec<_>>().join(", ")
}
