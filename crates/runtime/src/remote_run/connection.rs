//! The messages of both sides in the frames of JSON-RPC.

use std::time::Duration;

use rpc::{ConnectionLimits, ErrorObject, FrameError, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The limits of the stream. A message may hold a prompt with images, or the largest input of a tool.
pub(super) const LIMITS: ConnectionLimits =
    ConnectionLimits { max_frame_bytes: 32 << 20, max_queue_bytes: 64 << 20, grace: Duration::from_secs(5) };

/// The method of requests and notices: their parameters say which.
const METHOD: &str = "run";

/// The peer does not follow the protocol, so that the run cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtocolError {
    #[error("a message cannot be read: {0}")]
    Malformed(String),
    #[error("unexpected message type")]
    Unexpected,
    #[error("a message is larger than {max} bytes")]
    TooLarge { max: u32 },
    #[error("more than {max} requests are open at once")]
    TooManyRequests { max: usize },
    #[error("a message cannot be written as JSON: {0}")]
    Unwritable(String),
}

impl ProtocolError {
    fn unreadable(error: impl ToString) -> ProtocolError {
        ProtocolError::Malformed(error.to_string())
    }
}

/// Why there is no next message.
#[derive(Debug)]
pub(super) enum StreamEnd {
    /// The stream ended, within a message or after one.
    Closed,
    Broken(ProtocolError),
}

impl From<FrameError> for StreamEnd {
    fn from(error: FrameError) -> StreamEnd {
        match error {
            FrameError::Truncated | FrameError::Io(_) => StreamEnd::Closed,
            FrameError::TooLarge { .. } | FrameError::Header(_) => StreamEnd::Broken(ProtocolError::unreadable(error)),
        }
    }
}

impl From<ProtocolError> for StreamEnd {
    fn from(error: ProtocolError) -> StreamEnd {
        StreamEnd::Broken(error)
    }
}

/// A message that arrived; `Q` are the requests and `N` the notices that this side accepts.
#[derive(Debug)]
pub(super) enum Incoming<Q, N> {
    Request(u64, Q),
    Notice(N),
    Reply(u64, Value),
}

/// Reads a message.
pub(super) fn parse<Q: DeserializeOwned, N: DeserializeOwned>(
    frame: rpc::IncomingMessage,
) -> Result<Incoming<Q, N>, ProtocolError> {
    match frame.map_err(|malformed| ProtocolError::unreadable(malformed.error))? {
        RpcMessage::Request(RpcRequest { id, method, params }) if method == METHOD => {
            Ok(Incoming::Request(number(&id)?, read(params)?))
        }
        RpcMessage::Notification(RpcNotification { method, params }) if method == METHOD => {
            Ok(Incoming::Notice(read(params)?))
        }
        RpcMessage::Response(RpcResponse { id: Some(id), outcome: Ok(reply) }) => {
            Ok(Incoming::Reply(number(&id)?, reply))
        }
        RpcMessage::Response(RpcResponse { id: _, outcome: Err(error) }) => Err(ProtocolError::unreadable(error)),
        RpcMessage::Request(_) | RpcMessage::Notification(_) | RpcMessage::Response(_) => {
            Err(ProtocolError::Unexpected)
        }
    }
}

fn number(id: &RequestId) -> Result<u64, ProtocolError> {
    match id {
        RequestId::Number(number) => number.as_u64().ok_or(ProtocolError::Unexpected),
        RequestId::Text(_) => Err(ProtocolError::Unexpected),
    }
}

/// Reads the content of a message.
pub(super) fn read<T: DeserializeOwned>(content: Value) -> Result<T, ProtocolError> {
    serde_json::from_value(content).map_err(ProtocolError::unreadable)
}

/// The content of a message.
pub(super) fn write(content: &impl Serialize) -> Result<Value, ProtocolError> {
    serde_json::to_value(content).map_err(|error| ProtocolError::Unwritable(error.to_string()))
}

/// A request.
pub(super) fn request(id: u64, content: &impl Serialize) -> Result<RpcMessage, ProtocolError> {
    let params = write(content)?;
    Ok(RpcMessage::Request(RpcRequest { id: RequestId::Number(id.into()), method: METHOD.into(), params }))
}

/// A notice.
pub(super) fn notice(content: &impl Serialize) -> Result<RpcMessage, ProtocolError> {
    Ok(RpcMessage::Notification(RpcNotification { method: METHOD.into(), params: write(content)? }))
}

/// The reply to a request.
pub(super) fn reply(id: u64, content: Value) -> RpcMessage {
    RpcMessage::Response(RpcResponse { id: Some(RequestId::Number(id.into())), outcome: Ok(content) })
}

/// The last message to a peer that does not follow the protocol.
pub(super) fn complaint(error: &ProtocolError) -> ErrorObject {
    ErrorObject::invalid(error.to_string())
}
