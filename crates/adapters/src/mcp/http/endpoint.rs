//! The address that clients post to. A client with a session names it in a header; one of 2026-07-28 says in each request
//! what it can do.

use std::io;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use rpc::{ErrorObject, MalformedMessage, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse};
use serde_json::{Map, Value};

use super::reply::{PendingHttpReply, SessionMessages, StreamSupport, json_reply, json_reply_with_status};
use super::sessions::{McpHttpSession, McpHttpSessions};
use super::{MCP_PATH, headers};
use crate::http::{
    AccessToken, ApiResponse, HttpLimits, HttpListener, HttpProblem, HttpResponder, HttpServerContext, StreamEnd, body,
    serve_clients,
};
use crate::mcp::message_sink::MessageSink;
use crate::mcp::responder::{McpResponder, object_params};
use crate::mcp::revision::{SESSION_VERSIONS, VERSION_META};
use crate::mcp::stateless_methods::{check_meta, require_stateless};
use crate::mcp::{McpFault, McpProvider, McpRequest};

/// Serves clients that send the token over HTTP until `end` completes.
pub async fn serve_http(
    listener: HttpListener,
    provider: Arc<dyn McpProvider>,
    token: AccessToken,
    limits: HttpLimits,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let grace = limits.grace;
    let context = HttpServerContext::new(token, listener.port(), limits);
    let closing = context.closing.clone();
    let (responder, sessions) = (Arc::new(McpResponder::new(provider)), McpHttpSessions::default());
    let mut served = serve_clients(listener, Arc::new(McpEndpoint { context, responder, sessions }))?;
    let failed = tokio::select! {
        () = end => false,
        _early = &mut served => true,
    };
    closing.close(StreamEnd::Complete);
    if failed {
        return Err(io::Error::other("the server can no longer serve clients; see the log"));
    }
    // Nothing is ever sent: the channel closes when the last client has left.
    if tokio::time::timeout(grace, served).await.is_err() {
        tracing::warn!("the server ended before all connections were closed");
    }
    Ok(())
}

struct McpEndpoint {
    context: HttpServerContext,
    responder: Arc<McpResponder>,
    sessions: McpHttpSessions,
}

impl HttpResponder for McpEndpoint {
    fn context(&self) -> &HttpServerContext {
        &self.context
    }

    async fn handle(&self, request: Request<Incoming>) -> Result<ApiResponse, HttpProblem> {
        let (parts, content) = request.into_parts();
        if parts.uri.path() != MCP_PATH {
            let detail = format!("there is nothing at {}", parts.uri.path());
            return Err(HttpProblem::not_found(detail).remedy(format!("clients use {MCP_PATH}")));
        }
        match parts.method {
            Method::POST => {
                let bytes = body::read_body(content, &self.context.limits).await?;
                if !body::is_json(&parts.headers) {
                    let detail = "the body is not `application/json`";
                    return Err(HttpProblem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
                }
                self.take_message(&parts.headers, RpcMessage::parse(&bytes)).await
            }
            Method::GET => self.follow_session(&parts.headers),
            Method::DELETE => self.end_session(&parts.headers),
            verb => {
                let detail = format!("{verb} is not allowed for {MCP_PATH}");
                let problem = HttpProblem::new(StatusCode::METHOD_NOT_ALLOWED, detail);
                Err(problem.allow("POST, GET, DELETE".into()))
            }
        }
    }
}

impl McpEndpoint {
    async fn take_message(
        &self,
        headers: &HeaderMap,
        message: Result<RpcMessage, MalformedMessage>,
    ) -> Result<ApiResponse, HttpProblem> {
        match message {
            Ok(RpcMessage::Request(request)) => self.take_request(headers, request).await,
            Ok(RpcMessage::Notification(notification)) => self.take_notification(headers, &notification),
            Ok(RpcMessage::Response(response)) => self.take_response(headers, response),
            Err(MalformedMessage { id, error }) => Ok(json_reply(id, Err(McpFault::malformed(error)))),
        }
    }

    async fn take_request(&self, headers: &HeaderMap, request: RpcRequest) -> Result<ApiResponse, HttpProblem> {
        let RpcRequest { id, method, params } = request;
        let begun = match object_params(params) {
            Ok(params) => self.begin_request(headers, &id, method, params),
            Err(fault) => Err(RequestRefusal::Fault(fault)),
        };
        match begun {
            Ok(BegunRequest::Answered(reply)) => Ok(*reply),
            Ok(BegunRequest::Pending(reply)) => Ok(reply.into_response(stream_support(headers)).await),
            Err(refusal) => refusal.into_response(Some(id)),
        }
    }

    fn begin_request(
        &self,
        request_headers: &HeaderMap,
        id: &RequestId,
        method: String,
        params: Map<String, Value>,
    ) -> Result<BegunRequest, RequestRefusal> {
        let version = headers::header(request_headers, &headers::VERSION)?;
        let names_version = params.get("_meta").is_some_and(|meta| meta.get(VERSION_META).is_some());
        let is_stateless = match version {
            Some(version) if SESSION_VERSIONS.contains(&version) => false,
            Some(_newer) => true,
            None => names_version,
        };
        if is_stateless {
            self.check_stateless(request_headers, version, &method, &params)?;
            let (sink, messages) = MessageSink::stream();
            let (responder, own_id) = (Arc::clone(&self.responder), id.clone());
            let work = async move { responder.answer_stateless(&own_id, &method, params, sink).await };
            return Ok(BegunRequest::Pending(Box::new(PendingHttpReply {
                id: id.clone(),
                work: Box::pin(work),
                messages,
                running: None,
                keep_alive: self.context.limits.keep_alive,
                closing: self.context.closing.clone(),
                _permit: self.context.stream_permit()?,
            })));
        }
        if method == "initialize" {
            return self.initialize(id, &params).map(|reply| BegunRequest::Answered(Box::new(reply)));
        }
        let session = self.session(request_headers)?;
        let (sink, messages) = MessageSink::stream();
        let (responder, inner) = (Arc::clone(&self.responder), Arc::clone(&session.session));
        let work = async move { responder.answer_in_session(&inner, &method, params, sink).await };
        Ok(BegunRequest::Pending(Box::new(PendingHttpReply {
            id: id.clone(),
            work: Box::pin(work),
            messages,
            running: Some(session.begin_request(id)),
            keep_alive: self.context.limits.keep_alive,
            closing: self.context.closing.clone(),
            _permit: self.context.stream_permit()?,
        })))
    }

    /// Checks what a request without a session says about itself, in its headers and in its body.
    fn check_stateless(
        &self,
        request_headers: &HeaderMap,
        version: Option<&str>,
        method: &str,
        params: &Map<String, Value>,
    ) -> Result<(), McpFault> {
        let version =
            version.ok_or_else(|| McpFault::header_mismatch("the header `mcp-protocol-version` is missing"))?;
        let named = check_meta(params)?;
        if named != version {
            return Err(McpFault::header_mismatch("the header `mcp-protocol-version` differs from the body"));
        }
        require_stateless(version)?;
        if !self.responder.has_stateless_method(method) {
            return Err(McpFault::unknown_method(method));
        }
        headers::check_standard(request_headers, method, params)?;
        let tool = params.get("name").and_then(Value::as_str).filter(|_| method == "tools/call");
        let (sink, _messages) = MessageSink::stream();
        match tool.map(|name| self.responder.tool(name, &McpRequest::stateless(params, sink))) {
            Some(Ok(tool)) => headers::check_arguments(request_headers, &tool.input_schema, params.get("arguments")),
            // An unknown tool is refused when it is called.
            Some(Err(_)) | None => Ok(()),
        }
    }

    fn initialize(&self, id: &RequestId, params: &Map<String, Value>) -> Result<ApiResponse, RequestRefusal> {
        let (session, result) = self.responder.initialize(params)?;
        let name = self.sessions.add(session).map_err(|error| HttpProblem::internal(&error))?;
        let full = || HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, "the limit of sessions is reached");
        let name = name.ok_or_else(|| full().remedy("end one: DELETE with its Mcp-Session-Id"))?;
        let mut reply = json_reply(Some(id.clone()), Ok(result));
        let name = HeaderValue::try_from(name).map_err(|error| HttpProblem::internal(&error))?;
        reply.headers_mut().insert(headers::SESSION, name);
        Ok(reply)
    }

    fn take_notification(
        &self,
        request_headers: &HeaderMap,
        notification: &RpcNotification,
    ) -> Result<ApiResponse, HttpProblem> {
        // A client without a session cancels a request by closing its stream.
        if request_headers.contains_key(headers::SESSION) {
            let session = match self.session(request_headers) {
                Ok(session) => session,
                Err(refusal) => return refusal.into_response(None),
            };
            if notification.method == "notifications/cancelled" {
                session.cancel(&notification.params["requestId"]);
            }
        }
        Ok(accepted())
    }

    fn take_response(&self, headers: &HeaderMap, response: RpcResponse) -> Result<ApiResponse, HttpProblem> {
        match self.session(headers) {
            Ok(session) => {
                session.session.take_answer(response);
                Ok(accepted())
            }
            Err(refusal) => refusal.into_response(None),
        }
    }

    /// Opens the stream of messages that belong to no request.
    fn follow_session(&self, headers: &HeaderMap) -> Result<ApiResponse, HttpProblem> {
        if stream_support(headers) == StreamSupport::JsonOnly {
            let detail = "the client does not accept `text/event-stream`";
            return Err(HttpProblem::new(StatusCode::NOT_ACCEPTABLE, detail));
        }
        let session = match self.session(headers) {
            Ok(session) => session,
            Err(refusal) => return refusal.into_response(None),
        };
        let messages = SessionMessages {
            session: Arc::clone(&session.session),
            changes: self.responder.provider.changes(),
            replaced: session.begin_stream(),
            keep_alive: self.context.limits.keep_alive,
            closing: self.context.closing.clone(),
            _permit: self.context.stream_permit()?,
        };
        Ok(messages.into_response())
    }

    fn end_session(&self, request_headers: &HeaderMap) -> Result<ApiResponse, HttpProblem> {
        let name = headers::header(request_headers, &headers::SESSION).ok().flatten();
        match name.is_some_and(|name| self.sessions.remove(name)) {
            true => Ok(body::no_content()),
            false => Err(HttpProblem::not_found("there is no such session")),
        }
    }

    /// The session that a request names.
    fn session(&self, request_headers: &HeaderMap) -> Result<Arc<McpHttpSession>, RequestRefusal> {
        let name = headers::header(request_headers, &headers::SESSION)?;
        let Some(name) = name else {
            let error = ErrorObject::invalid("the header `mcp-session-id` is missing: begin with `initialize`");
            return Err(RequestRefusal::Status(400, McpFault::malformed(error)));
        };
        let unknown = || ErrorObject::invalid("there is no such session: begin another with `initialize`");
        self.sessions.find(name).ok_or_else(|| RequestRefusal::Status(404, McpFault::malformed(unknown())))
    }
}

/// A request that was accepted.
enum BegunRequest {
    Answered(Box<ApiResponse>),
    Pending(Box<PendingHttpReply>),
}

/// Why a request was not accepted.
enum RequestRefusal {
    Fault(McpFault),
    /// With a status of its own.
    Status(u16, McpFault),
    Problem(Box<HttpProblem>),
}

impl RequestRefusal {
    fn into_response(self, id: Option<RequestId>) -> Result<ApiResponse, HttpProblem> {
        match self {
            RequestRefusal::Fault(fault) => Ok(json_reply(id, Err(fault))),
            RequestRefusal::Status(status, fault) => Ok(json_reply_with_status(status, id, Err(fault))),
            RequestRefusal::Problem(problem) => Err(*problem),
        }
    }
}

impl From<McpFault> for RequestRefusal {
    fn from(fault: McpFault) -> RequestRefusal {
        RequestRefusal::Fault(fault)
    }
}

impl From<HttpProblem> for RequestRefusal {
    fn from(problem: HttpProblem) -> RequestRefusal {
        RequestRefusal::Problem(Box::new(problem))
    }
}

fn accepted() -> ApiResponse {
    let mut reply = body::no_content();
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

/// Whether the client accepts streams: it says so, or accepts everything.
fn stream_support(headers: &HeaderMap) -> StreamSupport {
    let accepts = |value: &HeaderValue| {
        let types = value.to_str().unwrap_or_default().split(',');
        let names = types.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        names.into_iter().any(|name| matches!(name.as_str(), "text/event-stream" | "text/*" | "*/*"))
    };
    match headers.get_all(ACCEPT).iter().any(accepts) {
        true => StreamSupport::Streams,
        false => StreamSupport::JsonOnly,
    }
}
