//! The response to a posted request: JSON, or a stream of server-sent events as soon as something has to be said before
//! the answer. The client pulls the stream; one that does not read stops its request.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use hyper::StatusCode;
use rpc::{RequestId, RpcMessage, RpcResponse};
use serde_json::{Map, Value};
use tokio::sync::broadcast::Receiver as ChangeReceiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::sessions::RunningHttpRequest;
use crate::http::{ApiResponse, StreamClosing, body};
use crate::mcp::session::McpSession;
use crate::mcp::{McpFault, McpFuture, ProviderChange};

/// A request that is being answered.
pub(super) struct PendingHttpReply {
    pub(super) id: RequestId,
    pub(super) work: McpFuture<'static, Result<Map<String, Value>, McpFault>>,
    pub(super) messages: mpsc::Receiver<RpcMessage>,
    /// Its entry among those that the session's client can cancel.
    pub(super) running: Option<RunningHttpRequest>,
    pub(super) keep_alive: Duration,
    pub(super) closing: StreamClosing,
    /// Counts it among the open streams.
    pub(super) _permit: OwnedSemaphorePermit,
}

/// What happens to a request next.
enum ReplyStep {
    Message(RpcMessage),
    Answer(Result<Map<String, Value>, McpFault>),
    Idle,
    /// Its client cancelled it, or the server closes.
    Abandoned,
}

/// Whether the client reads streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamSupport {
    /// It does.
    Streams,
    /// It reads only the answer.
    JsonOnly,
}

impl PendingHttpReply {
    /// The response, as soon as it begins.
    pub(super) async fn into_response(mut self, support: StreamSupport) -> ApiResponse {
        loop {
            match self.step().await {
                ReplyStep::Message(first) if support == StreamSupport::Streams => {
                    return body::event_stream(self.stream(VecDeque::from([first]), None));
                }
                ReplyStep::Answer(outcome) => {
                    let waiting: VecDeque<_> = std::iter::from_fn(|| self.messages.try_recv().ok()).collect();
                    return match support {
                        StreamSupport::Streams if !waiting.is_empty() => {
                            body::event_stream(self.stream(waiting, Some(outcome)))
                        }
                        StreamSupport::Streams | StreamSupport::JsonOnly => json_reply(Some(self.id), outcome),
                    };
                }
                ReplyStep::Message(_) | ReplyStep::Idle => {}
                ReplyStep::Abandoned => return body::no_content(),
            }
        }
    }

    async fn step(&mut self) -> ReplyStep {
        let running = self.running.as_ref();
        let cancelled = async {
            match running {
                Some(running) => running.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancelled => ReplyStep::Abandoned,
            Some(message) = self.messages.recv() => ReplyStep::Message(message),
            answer = &mut self.work => ReplyStep::Answer(answer),
            () = self.closing.closed() => ReplyStep::Abandoned,
            () = tokio::time::sleep(self.keep_alive) => ReplyStep::Idle,
        }
    }

    /// The rest of the reply: messages that wait already, then what follows, unless it was answered already.
    fn stream(
        self,
        waiting: VecDeque<RpcMessage>,
        outcome: Option<Result<Map<String, Value>, McpFault>>,
    ) -> impl Stream<Item = Bytes> + Send {
        unfold(ReplyStream { reply: Some(self), waiting, outcome }, |mut stream| async move {
            let piece = stream.next().await?;
            Some((piece, stream))
        })
    }
}

struct ReplyStream {
    /// None once it is answered.
    reply: Option<PendingHttpReply>,
    waiting: VecDeque<RpcMessage>,
    outcome: Option<Result<Map<String, Value>, McpFault>>,
}

impl ReplyStream {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(message) = self.waiting.pop_front() {
            return Some(sse_message(message));
        }
        let outcome = match self.outcome.take() {
            Some(outcome) => outcome,
            None => match self.reply.as_mut()?.step().await {
                ReplyStep::Message(message) => return Some(sse_message(message)),
                ReplyStep::Idle => return Some(keep_alive()),
                ReplyStep::Abandoned => return None,
                ReplyStep::Answer(outcome) => {
                    let reply = self.reply.as_mut()?;
                    self.waiting.extend(std::iter::from_fn(|| reply.messages.try_recv().ok()));
                    if let Some(message) = self.waiting.pop_front() {
                        self.outcome = Some(outcome);
                        return Some(sse_message(message));
                    }
                    outcome
                }
            },
        };
        let id = self.reply.take()?.id;
        Some(sse_message(response(Some(id), outcome)))
    }
}

/// The answer to a request as JSON, with the status that its failure has.
pub(super) fn json_reply(id: Option<RequestId>, outcome: Result<Map<String, Value>, McpFault>) -> ApiResponse {
    let status = outcome.as_ref().map_or_else(McpFault::http_status, |_result| 200);
    json_reply_with_status(status, id, outcome)
}

/// The answer to a request as JSON.
pub(super) fn json_reply_with_status(
    status: u16,
    id: Option<RequestId>,
    outcome: Result<Map<String, Value>, McpFault>,
) -> ApiResponse {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    body::json_bytes(status, response(id, outcome).into_json())
}

fn response(id: Option<RequestId>, outcome: Result<Map<String, Value>, McpFault>) -> RpcMessage {
    RpcMessage::Response(RpcResponse { id, outcome: outcome.map(Value::Object).map_err(McpFault::into_error) })
}

/// The stream of messages that belong to no request of a session, until another stream takes its place.
pub(super) struct SessionMessages {
    pub(super) session: std::sync::Arc<McpSession>,
    pub(super) changes: ChangeReceiver<ProviderChange>,
    pub(super) replaced: watch::Receiver<u64>,
    pub(super) keep_alive: Duration,
    pub(super) closing: StreamClosing,
    /// Counts it among the open streams.
    pub(super) _permit: OwnedSemaphorePermit,
}

impl SessionMessages {
    pub(super) fn into_response(self) -> ApiResponse {
        // A first comment, so that the client learns at once that the stream is open.
        let opened = futures_util::stream::iter([keep_alive()]);
        let messages = unfold(self, |mut messages| async move {
            let piece = messages.next().await?;
            Some((piece, messages))
        });
        body::event_stream(futures_util::StreamExt::chain(opened, messages))
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                change = self.changes.recv() => match change {
                    Ok(change) => {
                        if let Some(notification) = self.session.notification(&change) {
                            return Some(sse_message(RpcMessage::Notification(notification)));
                        }
                    }
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                },
                _replaced = self.replaced.changed() => return None,
                () = self.closing.closed() => return None,
                () = tokio::time::sleep(self.keep_alive) => return Some(keep_alive()),
            }
        }
    }
}

fn sse_message(message: RpcMessage) -> Bytes {
    [b"event: message\ndata: ".as_slice(), &message.into_json(), b"\n\n"].concat().into()
}

fn keep_alive() -> Bytes {
    Bytes::from_static(b": nothing new\n\n")
}
