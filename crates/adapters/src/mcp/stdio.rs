//! The transport to the program that started this process: one message per line. The program may begin a session, or
//! send requests of 2026-07-28, or both.

use std::collections::HashMap;
use std::sync::Arc;

use rpc::{
    Connection, ConnectionLimits, FrameError, Framing, MalformedMessage, Outbox, RequestId, RpcMessage,
    RpcNotification, RpcRequest, RpcResponse,
};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::{AbortHandle, Id, JoinSet};

use super::message_sink::MessageSink;
use super::responder::{McpResponder, object_params};
use super::revision::VERSION_META;
use super::session::McpSession;
use super::stateless_methods::{check_meta, require_stateless};
use super::{McpFault, McpProvider};

/// How many requests may be in progress.
const MAX_REQUESTS: usize = 256;

/// Serves one client until it closes its end. Requests in progress end then; what they started continues.
pub async fn serve_stdio<R, W>(provider: Arc<dyn McpProvider>, input: R, output: W) -> Result<(), FrameError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut connection = Connection::new(input, output, Framing::Lines, ConnectionLimits::LOCAL);
    let mut changes = provider.changes();
    let mut client = StdioClient {
        responder: Arc::new(McpResponder::new(provider)),
        outbox: connection.outbox().clone(),
        session: None,
        running: JoinSet::new(),
        requests: HashMap::new(),
    };
    let ended = loop {
        tokio::select! {
            message = connection.next() => match message {
                Ok(Some(message)) => client.take(message).await,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            },
            Some(ended) = client.running.join_next_with_id() => client.forget(&ended.map_or_else(|e| e.id(), |(id, ())| id)),
            change = changes.recv() => match (change, &client.session) {
                (Ok(change), Some(session)) => {
                    if let Some(notification) = session.notification(&change) {
                        client.send(RpcMessage::Notification(notification)).await;
                    }
                }
                (Ok(_) | Err(RecvError::Lagged(_)), _) => {}
                (Err(RecvError::Closed), _) => break Ok(()),
            },
        }
    };
    client.running.shutdown().await;
    drop(client);
    connection.close().await;
    ended
}

/// The client on a connection.
struct StdioClient {
    responder: Arc<McpResponder>,
    outbox: Outbox,
    session: Option<Arc<McpSession>>,
    running: JoinSet<()>,
    /// The requests in progress.
    requests: HashMap<RequestId, AbortHandle>,
}

impl StdioClient {
    async fn take(&mut self, message: Result<RpcMessage, MalformedMessage>) {
        match message {
            Ok(RpcMessage::Request(request)) => self.take_request(request).await,
            Ok(RpcMessage::Notification(notification)) => self.take_notification(&notification),
            Ok(RpcMessage::Response(response)) => {
                if let Some(session) = &self.session {
                    session.take_answer(response);
                }
            }
            Err(MalformedMessage { id, error }) => {
                self.send(RpcMessage::Response(RpcResponse { id, outcome: Err(error) })).await;
            }
        }
    }

    async fn take_request(&mut self, request: RpcRequest) {
        let RpcRequest { id, method, params } = request;
        let outcome = match object_params(params) {
            Ok(params) if self.begins_session(&method, &params) => self.initialize(&params),
            Ok(params) => self.start(&id, method, params).map(|()| None),
            Err(fault) => Err(fault),
        };
        let outcome = match outcome {
            // A task of its own answers.
            Ok(None) => return,
            Ok(Some(result)) => Ok(Value::Object(result)),
            Err(fault) => Err(fault.into_error()),
        };
        self.send(RpcMessage::Response(RpcResponse { id: Some(id), outcome })).await;
    }

    fn begins_session(&self, method: &str, params: &Map<String, Value>) -> bool {
        method == "initialize" && !names_version(params)
    }

    fn initialize(&mut self, params: &Map<String, Value>) -> Result<Option<Map<String, Value>>, McpFault> {
        let (session, result) = self.responder.initialize(params)?;
        self.session = Some(Arc::new(session));
        Ok(Some(result))
    }

    /// Starts to answer a request.
    fn start(&mut self, id: &RequestId, method: String, params: Map<String, Value>) -> Result<(), McpFault> {
        if self.requests.len() >= MAX_REQUESTS {
            return Err(McpFault::internal(format!("more than {MAX_REQUESTS} requests are in progress")));
        }
        let (responder, outbox) = (Arc::clone(&self.responder), self.outbox.clone());
        let session = self.session.clone().filter(|_| !names_version(&params));
        if session.is_none() {
            require_stateless(check_meta(&params)?)?;
        }
        let sink = MessageSink::Connection(outbox);
        let own_id = id.clone();
        let answering = async move {
            let answer = match &session {
                Some(session) => responder.answer_in_session(session, &method, params, sink.clone()).await,
                None => responder.answer_stateless(&own_id, &method, params, sink.clone()).await,
            };
            let outcome = answer.map(Value::Object).map_err(McpFault::into_error);
            // A client that has left needs no answer.
            sink.send(RpcMessage::Response(RpcResponse { id: Some(own_id), outcome })).await.ok();
        };
        let handle = self.running.spawn(answering);
        self.requests.insert(id.clone(), handle);
        Ok(())
    }

    fn take_notification(&mut self, notification: &RpcNotification) {
        let cancelled = &notification.params["requestId"];
        let is_cancelled = |id: &RequestId| Value::from(id.clone()) == *cancelled;
        match notification.method.as_str() {
            "notifications/cancelled" => {
                let found = self.requests.iter().find(|(id, _)| is_cancelled(id));
                found.into_iter().for_each(|(_, handle)| handle.abort());
            }
            other => tracing::debug!(method = other, "notification of an MCP client"),
        }
    }

    /// Forgets a request that has ended.
    fn forget(&mut self, ended: &Id) {
        self.requests.retain(|_, handle| handle.id() != *ended);
    }

    async fn send(&self, message: RpcMessage) {
        // The connection ends by itself when the client has left.
        MessageSink::Connection(self.outbox.clone()).send(message).await.ok();
    }
}

/// Whether a request names its revision, as those without a session do.
fn names_version(params: &Map<String, Value>) -> bool {
    params.get("_meta").is_some_and(|meta| meta.get(VERSION_META).is_some())
}
