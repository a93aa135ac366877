//! Why a client has no answer.

use std::sync::Arc;

use protocol::SessionId;
use protocol::api::{Method, RefusalKind};
use rpc::{CallError, ConnectionClosed, ErrorObject};
use store::{ListError, StoreError, TodoError};

/// Why a request to a session has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The session's file, or the index of sessions, cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The todos of a session that rests cannot be changed in this way.
    #[error(transparent)]
    Todos(TodoError),
    /// A shared list cannot be read or changed in this way.
    #[error(transparent)]
    Lists(ListError),
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
    /// The session is paused because its progress could not be written.
    #[error("the session is paused: {0}")]
    Paused(Arc<StoreError>),
    /// The request or its answer cannot be sent or read.
    #[error(transparent)]
    Call(CallError),
    /// This process does not answer the method.
    #[error("this process does not answer {}", .0.name())]
    WrongScope(Method),
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

impl From<ListError> for ClientError {
    fn from(error: ListError) -> ClientError {
        match error {
            ListError::Store(error) => ClientError::Store(error),
            error => ClientError::Lists(error),
        }
    }
}

impl ClientError {
    /// A failure that no request can avoid.
    pub fn internal(error: impl std::fmt::Display) -> ClientError {
        ClientError::Refused(ErrorObject::internal(error))
    }

    /// Why a request was refused, for programs; none if it failed.
    fn refusal_kind(&self) -> Option<RefusalKind> {
        match self {
            ClientError::Todos(_) => Some(RefusalKind::Invalid),
            ClientError::Lists(error) => Some(match error {
                ListError::Missing(_) => RefusalKind::NoItem,
                ListError::Stale { .. } | ListError::Blocked { .. } | ListError::Unfinished(_) => RefusalKind::State,
                ListError::Cycle(_) | ListError::Invalid(_) => RefusalKind::Invalid,
                ListError::Store(_) => return None,
            }),
            ClientError::NoSession { .. }
            | ClientError::Ambiguous { .. }
            | ClientError::Store(StoreError::Missing { .. }) => Some(RefusalKind::NoSession),
            ClientError::Store(_)
            | ClientError::Refused(_)
            | ClientError::NotRunning(_)
            | ClientError::NoAnswer { .. }
            | ClientError::Ended { .. }
            | ClientError::Paused(_)
            | ClientError::Call(_)
            | ClientError::WrongScope(_) => None,
        }
    }
}

impl From<ClientError> for ErrorObject {
    fn from(error: ClientError) -> ErrorObject {
        match (error.refusal_kind(), error) {
            (_, ClientError::Refused(object)) => object,
            (_, ClientError::WrongScope(method)) => ErrorObject::unknown_method(method.name()),
            (Some(kind), error) => ErrorObject::refused(kind, error),
            (None, error) => ErrorObject::internal(error),
        }
    }
}

fn format_ids(ids: &[SessionId]) -> String {
    ids.iter().map(SessionId::to_string).collect::<Vec<_>>().join(", ")
}
