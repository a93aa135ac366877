//! The transport to a URL: every message is posted, and the answer is JSON or a stream of events.

use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use net::sse::SseDecoder;
use net::{HttpClient, HttpResponse, HttpTimeouts, NetworkRoute, PostRequest, RequestHeader, Secret};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::message::{self, MAX_MESSAGE_BYTES, UnusableMessage};
use crate::transport::ServerMessageSink;
use crate::{McpResponseFuture, McpRevision, McpTransport};

const EVENT_STREAM: &str = "text/event-stream";
const SESSION_HEADER: &str = "mcp-session-id";

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The end of a request that has no time limit of its own; the caller's is shorter.
const MAX_SILENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// How much of an error page is shown.
const ERROR_BYTES: usize = 300;

/// The transport to a URL.
pub(crate) struct HttpTransport {
    client: HttpClient,
    url: String,
    headers: Vec<RequestHeader>,
    revision: OnceLock<McpRevision>,
    session: Mutex<Option<String>>,
    closed: Mutex<Option<String>>,
    sink: ServerMessageSink,
    messages: Mutex<Option<mpsc::Receiver<Value>>>,
}

impl HttpTransport {
    /// A transport that sends these headers with every request. Nothing is sent yet.
    pub(crate) fn new(
        route: NetworkRoute,
        url: String,
        headers: &[(String, Secret)],
    ) -> Result<HttpTransport, net::NetError> {
        let timeouts = HttpTimeouts { connect: CONNECT_TIMEOUT, first_byte: MAX_SILENCE, idle: MAX_SILENCE };
        let headers = headers.iter().map(|(name, value)| RequestHeader::user_defined(name, value.clone()));
        let (sink, messages) = ServerMessageSink::new();
        Ok(HttpTransport {
            client: HttpClient::new(route, timeouts),
            url,
            headers: headers.collect::<Result<_, _>>()?,
            revision: OnceLock::new(),
            session: Mutex::default(),
            closed: Mutex::default(),
            sink,
            messages: Mutex::new(Some(messages)),
        })
    }

    async fn exchange(&self, message: Value) -> Result<Value, String> {
        // A stateless server learns of a cancelled request from its closed connection.
        let is_stateless = self.revision.get() == Some(&McpRevision::Stateless);
        if is_stateless && message["method"] == "notifications/cancelled" {
            return Ok(Value::Null);
        }
        let id = message.get("method").and(message.get("id")).cloned();
        let headers = self.headers_of(&message);
        let body = message.to_string().into();
        let post = PostRequest { url: self.url.clone(), headers, body };
        let response = self.client.post(post).await.map_err(|error| error.to_string())?;
        if let Some(session) = response.header(SESSION_HEADER) {
            lock(&self.session).get_or_insert_with(|| session.to_owned());
        }
        match (id, response.is_success()) {
            (Some(id), true) => self.read_response(response, &id).await,
            (None, true) => Ok(Value::Null),
            (id, false) => self.read_failure(response, id.is_some()).await,
        }
    }

    fn headers_of(&self, message: &Value) -> Vec<RequestHeader> {
        let mut headers = vec![
            RequestHeader::plain("content-type", "application/json"),
            RequestHeader::plain("accept", "application/json, text/event-stream"),
        ];
        let method = message["method"].as_str().unwrap_or_default();
        let revision = match method {
            "server/discover" => Some(McpRevision::Stateless),
            _other => self.revision.get().copied(),
        };
        if let Some(revision) = revision {
            headers.push(RequestHeader::plain("mcp-protocol-version", revision.version()));
        }
        if revision == Some(McpRevision::Stateless) {
            headers.push(RequestHeader::plain("mcp-method", method));
            headers.extend(subject(method, &message["params"]).map(|name| RequestHeader::plain("mcp-name", name)));
        }
        if let Some(session) = &*lock(&self.session) {
            headers.push(RequestHeader::secret(SESSION_HEADER, Secret::new(session)));
        }
        headers.extend(self.headers.iter().cloned());
        headers
    }

    async fn read_response(&self, response: HttpResponse, id: &Value) -> Result<Value, String> {
        match response.header("content-type").is_some_and(|kind| kind.starts_with(EVENT_STREAM)) {
            true => self.read_events(response, id).await,
            false => {
                let text = response.text(MAX_MESSAGE_BYTES + 1).await.map_err(|error| error.to_string())?;
                message::parse(text.as_bytes()).map_err(|unusable| unusable.to_string())
            }
        }
    }

    /// Reads events until the response arrives; other messages are requests and notifications of the server.
    async fn read_events(&self, mut response: HttpResponse, id: &Value) -> Result<Value, String> {
        let mut events = SseDecoder::default();
        while let Some(bytes) = response.chunk().await.map_err(|error| error.to_string())? {
            for event in events.push(&bytes).map_err(|error| error.to_string())? {
                match message::parse(event.data.as_bytes()) {
                    Ok(message) if message.get("method").is_some() => self.sink.push(message),
                    Ok(message) if message.get("id") == Some(id) => return Ok(message),
                    Ok(_) | Err(UnusableMessage::NotJson(_)) => {
                        tracing::debug!("an MCP server sent an event that is not a message");
                    }
                    Err(unusable) => return Err(unusable.to_string()),
                }
            }
        }
        Err("it closed the stream before it answered".into())
    }

    /// Reads the answer of a request that failed: an error of the server, or an error page of a proxy.
    async fn read_failure(&self, response: HttpResponse, is_request: bool) -> Result<Value, String> {
        let status = response.status();
        let challenge = response.header("www-authenticate").map(str::to_owned);
        let text = response.excerpt(MAX_MESSAGE_BYTES, Duration::from_secs(10)).await;
        match status {
            401 | 403 => {
                let challenge = challenge.map(|text| format!(" ({})", protocol::clip_middle(&text, ERROR_BYTES)));
                let challenge = challenge.unwrap_or_default();
                return Err(format!(
                    "it refuses the credentials with status {status}{challenge}; set `headers` with `Authorization` \
                     for it"
                ));
            }
            404 if lock(&self.session).is_some() => {
                let reason = "its session has expired".to_owned();
                lock(&self.closed).get_or_insert_with(|| reason.clone());
                return Err(reason);
            }
            _other => {}
        }
        match serde_json::from_str::<Value>(&text) {
            Ok(error) if is_request && error["error"]["code"].is_i64() => Ok(error),
            Ok(_) | Err(_) => {
                Err(format!("it answered with status {status}: {}", protocol::clip_middle(text.trim(), ERROR_BYTES)))
            }
        }
    }
}

/// What a request is about, for programs between client and server that do not read its body.
fn subject(method: &str, params: &Value) -> Option<String> {
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _other => return None,
    };
    params[field].as_str().map(header_value)
}

/// A value as a header can carry it.
fn header_value(text: &str) -> String {
    let is_plain = text.chars().all(|c| (' '..='~').contains(&c)) && text.trim() == text && !text.starts_with("=?");
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) }
}

impl McpTransport for HttpTransport {
    fn send(&self, message: Value) -> McpResponseFuture<'_> {
        Box::pin(self.exchange(message))
    }

    fn take_server_messages(&self) -> Option<mpsc::Receiver<Value>> {
        lock(&self.messages).take()
    }

    fn use_revision(&self, revision: McpRevision) {
        // The revision is negotiated once.
        let _negotiated = self.revision.set(revision);
    }

    fn closed(&self) -> Option<String> {
        lock(&self.closed).clone()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn subjects_are_encoded_when_a_header_cannot_carry_them() {
        let subject = |method: &str, params: Value| subject(method, &params);
        assert_eq!(subject("tools/call", json!({ "name": "add" })), Some("add".into()));
        assert_eq!(subject("tasks/get", json!({ "taskId": " 7" })), Some("=?base64?IDc=?=".into()));
        assert_eq!(subject("resources/read", json!({ "uri": "ü" })), Some("=?base64?w7w=?=".into()));
        assert_eq!(subject("tools/list", json!({})), None);
        assert_eq!(subject("tools/call", json!({ "name": 3 })), None);
    }
}
