//! The transport to a URL: every message is posted, and the answer is JSON or a stream of events.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use net::{HttpClient, HttpResponse, HttpTimeouts, NetworkRoute, PostRequest, RequestHeader, Secret};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tools::BoxFuture;

use super::event_stream::StreamPosition;
use super::headers::{header_value, subject};
use super::param_headers::ParamHeader;
use crate::message::{self, MAX_MESSAGE_BYTES};
use crate::oauth::{Challenge, Credentials, OAuthError};
use crate::revision::STATELESS_VERSION;
use crate::transport::ServerMessageSink;
use crate::{McpResponseFuture, McpRevision, McpToolDescription, McpTransport, TransportError};

const EVENT_STREAM: &str = "text/event-stream";
const SESSION_HEADER: &str = "mcp-session-id";

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The end of a request that has no time limit of its own; the caller's is shorter.
const MAX_SILENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a server may take to hear that its session is not needed any more.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// How often in a row a stream is resumed without a new event before it is given up.
const MAX_RESUMPTIONS: u32 = 8;

/// The longest delay before the stream for messages outside of requests is opened again.
const MAX_REOPEN_DELAY: Duration = Duration::from_secs(60);

/// How much of an error page is shown.
const ERROR_BYTES: usize = 300;

/// What a transport to a URL is made of.
#[derive(Debug)]
pub(crate) struct HttpTransportSetup {
    pub(crate) route: NetworkRoute,
    pub(crate) url: String,
    /// Headers of every request.
    pub(crate) headers: Vec<(String, Secret)>,
    /// The token, if the server may ask for one.
    pub(crate) credentials: Option<Arc<Credentials>>,
}

/// The transport to a URL.
pub(crate) struct HttpTransport {
    client: HttpClient,
    url: String,
    headers: Vec<RequestHeader>,
    credentials: Option<Arc<Credentials>>,
    /// What was negotiated.
    revision: OnceLock<McpRevision>,
    version: Mutex<String>,
    session: Mutex<Option<String>>,
    /// The arguments of tools that are repeated in headers.
    param_headers: Mutex<BTreeMap<String, Vec<ParamHeader>>>,
    sink: ServerMessageSink,
    messages: Mutex<Option<mpsc::Receiver<Value>>>,
}

/// A request to the URL.
#[derive(Debug, Clone)]
enum UrlRequest {
    Post(Bytes),
    Get,
    Delete,
}

impl HttpTransport {
    /// Nothing is sent yet.
    pub(crate) fn new(setup: HttpTransportSetup) -> Result<HttpTransport, net::NetError> {
        let HttpTransportSetup { route, url, headers, credentials } = setup;
        let timeouts = HttpTimeouts { connect: CONNECT_TIMEOUT, first_byte: MAX_SILENCE, idle: MAX_SILENCE };
        let headers = headers.into_iter().map(|(name, value)| RequestHeader::user_defined(&name, value));
        let (sink, messages) = ServerMessageSink::new();
        Ok(HttpTransport {
            client: HttpClient::new(route, timeouts),
            url,
            headers: headers.collect::<Result<_, _>>()?,
            credentials,
            revision: OnceLock::new(),
            version: Mutex::default(),
            session: Mutex::default(),
            param_headers: Mutex::default(),
            sink,
            messages: Mutex::new(Some(messages)),
        })
    }

    async fn exchange(&self, message: Value) -> Result<Value, TransportError> {
        // A stateless server learns of a cancelled request from its closed connection.
        if self.is_stateless() && message["method"] == "notifications/cancelled" {
            return Ok(Value::Null);
        }
        let id = message.get("method").and(message.get("id")).cloned();
        let begins_session = message["method"] == "initialize";
        let headers = self.headers_of(&message);
        let session = lock(&self.session).clone();
        let response = self.authorized(&headers, &UrlRequest::Post(message.to_string().into())).await?;
        if begins_session && response.is_success() {
            *lock(&self.session) = response.header(SESSION_HEADER).map(str::to_owned);
        }
        match (id, response.is_success()) {
            (Some(id), true) => self.read_response(response, &id).await,
            (None, true) => Ok(Value::Null),
            (_, false) if response.status() == 404 && session.is_some() && !begins_session => {
                self.end_session(session);
                Err(TransportError::SessionExpired)
            }
            (id, false) => {
                let is_bad_request = response.status() == 400;
                let failure = self.read_failure(response, id.is_some()).await;
                if is_bad_request && session.is_some() && !begins_session && misses_session(&failure) {
                    self.end_session(session);
                    return Err(TransportError::SessionExpired);
                }
                failure
            }
        }
    }

    fn is_stateless(&self) -> bool {
        self.revision.get() == Some(&McpRevision::Stateless)
    }

    /// Forgets a session, unless another one has begun meanwhile.
    fn end_session(&self, ended: Option<String>) {
        let mut session = lock(&self.session);
        if *session == ended {
            *session = None;
        }
    }

    /// Sends a request, with a token if the server wants one.
    async fn authorized(
        &self,
        headers: &[RequestHeader],
        request: &UrlRequest,
    ) -> Result<HttpResponse, TransportError> {
        let Some(credentials) = &self.credentials else { return Ok(self.request(headers.to_vec(), request).await?) };
        let (mut was_replaced, mut was_extended) = (false, false);
        loop {
            let token = credentials.token().await;
            let authorization = token.clone().map(RequestHeader::bearer);
            let response = self.request(headers.iter().cloned().chain(authorization).collect(), request).await?;
            let challenge = match response.status() {
                401 | 403 => Challenge::read(response.header_values("www-authenticate")),
                _other => return Ok(response),
            };
            match response.status() {
                401 if !was_replaced => {
                    was_replaced = true;
                    credentials.replace(token.as_ref(), &challenge).await?;
                }
                401 => return Err(credentials.give_up(&challenge).await.into()),
                _forbidden if challenge.wants_more_scopes() && !was_extended => {
                    was_extended = true;
                    credentials.extend(&challenge).await?;
                }
                _forbidden if challenge.wants_more_scopes() => return Err(OAuthError::refused_token(&challenge).into()),
                _forbidden => return Ok(response),
            }
        }
    }

    async fn request(&self, headers: Vec<RequestHeader>, request: &UrlRequest) -> Result<HttpResponse, net::NetError> {
        match request {
            UrlRequest::Post(body) => {
                self.client.post(PostRequest { url: self.url.clone(), headers, body: body.clone() }).await
            }
            UrlRequest::Get => self.client.get(&self.url, &headers).await,
            UrlRequest::Delete => self.client.delete(&self.url, &headers).await,
        }
    }

    fn headers_of(&self, message: &Value) -> Vec<RequestHeader> {
        let mut headers = vec![
            RequestHeader::plain("content-type", "application/json"),
            RequestHeader::plain("accept", "application/json, text/event-stream"),
        ];
        let method = message["method"].as_str().unwrap_or_default();
        match method {
            // The first message of a session negotiates.
            "initialize" => {}
            "server/discover" => headers.push(RequestHeader::plain("mcp-protocol-version", STATELESS_VERSION)),
            _other => headers.extend(self.session_headers()),
        }
        if method == "server/discover" || self.is_stateless() {
            headers.push(RequestHeader::plain("mcp-method", method));
            headers.extend(subject(method, &message["params"]).map(|name| RequestHeader::plain("mcp-name", name)));
            headers.extend(self.param_headers_of(method, &message["params"]));
        }
        headers.extend(self.headers.iter().cloned());
        headers
    }

    /// What requests say about what was negotiated.
    fn session_headers(&self) -> Vec<RequestHeader> {
        let mut headers = Vec::new();
        let version = lock(&self.version).clone();
        if !version.is_empty() {
            headers.push(RequestHeader::plain("mcp-protocol-version", version));
        }
        if let Some(session) = &*lock(&self.session) {
            headers.push(RequestHeader::secret(SESSION_HEADER, Secret::new(session)));
        }
        headers
    }

    /// The arguments of a call that its tool wants to have in headers.
    fn param_headers_of(&self, method: &str, params: &Value) -> Vec<RequestHeader> {
        let all = lock(&self.param_headers);
        let of_tool = params["name"].as_str().filter(|_| method == "tools/call").and_then(|name| all.get(name));
        let values = of_tool.into_iter().flatten().filter_map(|header| header.of(&params["arguments"]));
        // The name was checked when the tool was read.
        values
            .filter_map(|(name, value)| RequestHeader::user_defined(&name, Secret::new(header_value(&value))).ok())
            .collect()
    }

    async fn read_response(&self, response: HttpResponse, id: &Value) -> Result<Value, TransportError> {
        if is_event_stream(&response) {
            return self.read_events(response, id).await;
        }
        let text = response.text(MAX_MESSAGE_BYTES + 1).await?;
        Ok(message::parse(self.redact(text).as_bytes()).map_err(|unusable| unusable.to_string())?)
    }

    /// Reads events until the response arrives; other messages are requests and notifications of the server. A server
    /// with a session may interrupt the stream and continue it later.
    async fn read_events(&self, mut response: HttpResponse, id: &Value) -> Result<Value, TransportError> {
        let mut position = StreamPosition::default();
        loop {
            let take = |message: Value| match message.get("method") {
                Some(_) => {
                    self.sink.push(message);
                    None
                }
                None => (message.get("id") == Some(id)).then_some(message),
            };
            if let Some(answer) = position.read(response, |text| self.redact(text), take).await? {
                return Ok(answer);
            }
            response = self.resume(&mut position).await?;
        }
    }

    /// Opens a stream again where it was interrupted.
    async fn resume(&self, position: &mut StreamPosition) -> Result<HttpResponse, TransportError> {
        let ended = || TransportError::Failed("it closed the stream before it answered".into());
        while position.last_id.is_some() && !self.is_stateless() && position.failures <= MAX_RESUMPTIONS {
            sleep(position.delay()).await;
            match self.open_stream(position).await {
                Ok(response) if response.is_success() && is_event_stream(&response) => return Ok(response),
                Ok(response) if response.status() < 500 => return Err(ended()),
                Err(error @ TransportError::Access(_)) => return Err(error),
                Ok(_) | Err(_) => position.failures += 1,
            }
        }
        Err(ended())
    }

    async fn open_stream(&self, position: &StreamPosition) -> Result<HttpResponse, TransportError> {
        let mut headers = vec![RequestHeader::plain("accept", EVENT_STREAM)];
        headers.extend(position.last_id.clone().map(|id| RequestHeader::plain("last-event-id", id)));
        headers.extend(self.session_headers());
        headers.extend(self.headers.iter().cloned());
        self.authorized(&headers, &UrlRequest::Get).await
    }

    /// Receives what a server with a session sends outside of requests, for as long as it sends anything.
    async fn receive_messages(&self, opened: oneshot::Sender<()>) {
        let (mut position, mut opened) = (StreamPosition::default(), Some(opened));
        loop {
            match self.open_stream(&position).await {
                Ok(response) if response.is_success() && is_event_stream(&response) => {
                    // The receiver has gone if the server took too long.
                    if let Some(opened) = opened.take() {
                        let _late = opened.send(());
                    }
                    let push = |message: Value| -> Option<()> {
                        if message.get("method").is_some() {
                            self.sink.push(message);
                        }
                        None
                    };
                    if let Err(error) = position.read(response, |text| self.redact(text), push).await {
                        tracing::debug!(%error, "the stream of an MCP server ended");
                    }
                }
                // It has no such stream, or the session is over: the next request begins another one.
                Ok(response) if !matches!(response.status(), 500 | 502..=504) => return,
                Err(TransportError::Access(_)) => return,
                Ok(_) | Err(_) => {
                    position.failures += 1;
                    opened = None;
                }
            }
            let doublings = position.failures.saturating_sub(1).min(16);
            let delay = position.delay();
            sleep(delay.saturating_mul(1 << doublings).min(MAX_REOPEN_DELAY.max(delay))).await;
        }
    }

    /// Reads the answer of a request that failed: an error of the server, or an error page of a proxy.
    async fn read_failure(&self, response: HttpResponse, is_request: bool) -> Result<Value, TransportError> {
        let status = response.status();
        let challenge = response.header("www-authenticate").map(str::to_owned);
        let text = self.redact(response.excerpt(MAX_MESSAGE_BYTES, Duration::from_secs(10)).await);
        if matches!(status, 401 | 403) {
            let challenge = challenge.map(|text| format!(" ({})", protocol::clip_middle(&text, ERROR_BYTES)));
            let challenge = challenge.unwrap_or_default();
            return Err(format!(
                "it refuses the credentials with status {status}{challenge}; check `headers` with `Authorization` for it"
            )
            .into());
        }
        match serde_json::from_str::<Value>(&text) {
            Ok(error) if is_request && error["error"]["code"].is_i64() => Ok(error),
            Ok(_) | Err(_) => {
                let page = protocol::clip_middle(text.trim(), ERROR_BYTES);
                Err(format!("it answered with status {status}: {page}").into())
            }
        }
    }

    /// Removes tokens from what the server sent.
    fn redact(&self, text: String) -> String {
        match &self.credentials {
            Some(credentials) => credentials.redact(text),
            None => text,
        }
    }

    /// Tells the server that its session is over.
    async fn end(&self) {
        let headers: Vec<RequestHeader> =
            self.session_headers().into_iter().chain(self.headers.iter().cloned()).collect();
        let session = lock(&self.session).take();
        if session.is_some() {
            // A server that does not end sessions says so, and nothing follows from it.
            let _answer = timeout(CLOSE_TIMEOUT, self.authorized(&headers, &UrlRequest::Delete)).await;
        }
    }
}

fn is_event_stream(response: &HttpResponse) -> bool {
    response.header("content-type").is_some_and(|kind| kind.starts_with(EVENT_STREAM))
}

/// Whether a server says that it does not know the session of a request. Not all of them say so with status 404.
fn misses_session(failure: &Result<Value, TransportError>) -> bool {
    let Ok(failure) = failure else { return false };
    let message = failure["error"]["message"].as_str().unwrap_or_default();
    failure["id"].is_null() && message.to_ascii_lowercase().contains("session")
}

impl McpTransport for HttpTransport {
    fn send(&self, message: Value) -> McpResponseFuture<'_> {
        Box::pin(self.exchange(message))
    }

    fn take_server_messages(&self) -> Option<mpsc::Receiver<Value>> {
        lock(&self.messages).take()
    }

    fn negotiated(&self, revision: McpRevision, version: &str) {
        // The family is negotiated once; another session may have another version.
        let _negotiated = self.revision.set(revision);
        version.clone_into(&mut lock(&self.version));
    }

    fn use_tools(&self, tools: &[McpToolDescription]) {
        let annotated = tools.iter().filter(|tool| !tool.param_headers.is_empty());
        *lock(&self.param_headers) = annotated.map(|tool| (tool.name.clone(), tool.param_headers.clone())).collect();
    }

    fn receive(&self, opened: oneshot::Sender<()>) -> BoxFuture<'_, ()> {
        Box::pin(self.receive_messages(opened))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.end())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address may contain a key.
impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the URL of an MCP server")
    }
}
