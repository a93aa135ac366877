//! Requests to one server, and the messages that it sends by itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use protocol::{McpProgress, McpRemoteTask, clip_middle};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::elicitation::{self, McpElicitor};
use crate::followed_task::TaskSignals;
use crate::revision;
use crate::wire::{self, McpResponse};
use crate::{McpError, McpOptions, McpRevision, McpTransport, SamplingPolicy, TransportError, server};

/// Maximum bytes of a transport's error message.
const MAX_ERROR_BYTES: usize = 2500;

/// Maximum bytes of a progress message.
const MAX_PROGRESS_BYTES: usize = 300;

/// How many questions of a server may be open at once.
const MAX_QUESTIONS: usize = 16;

/// How many answers to a server that does not read them are kept; it gets no others until it reads.
const MAX_UNREAD_ANSWERS: usize = 256;

/// JSON-RPC's code for a request that fails here.
const INTERNAL_ERROR: i64 = -32603;

/// JSON-RPC's code for an unknown method, and for a request that is not permitted.
const METHOD_NOT_FOUND: i64 = -32601;

/// The protocol's code for a question that the user or the client does not answer.
const USER_REJECTED: i64 = -1;

/// How long a server that does not read may delay a cancellation.
const CANCEL_WAIT: Duration = Duration::from_secs(1);

/// How long a server may take to read an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// The requests to one server.
#[derive(Debug)]
pub(crate) struct ServerLink {
    pub(crate) server: String,
    pub(crate) transport: Arc<dyn McpTransport>,
    pub(crate) options: McpOptions,
    revision: OnceLock<McpRevision>,
    next_id: AtomicU64,
    /// The requests that the server has not answered.
    open: Mutex<BTreeMap<u64, OpenRequest>>,
    /// The tasks of the server that are followed.
    followed: Mutex<BTreeMap<u64, FollowedSignals>>,
    /// How often the server reported that its tools changed.
    tool_changes: AtomicU64,
    /// The number of sessions that have begun; held while another one begins.
    sessions: AsyncMutex<u64>,
    /// Told when another session has begun.
    pub(crate) session_begun: Notify,
    /// Messages that are sent in the background.
    background: Mutex<JoinSet<()>>,
}

/// A request that the server has not answered.
#[derive(Debug)]
struct OpenRequest {
    /// By which the server names it in progress notifications.
    progress_token: Option<String>,
    progress: watch::Sender<Option<McpProgress>>,
    elicitor: Option<Arc<dyn McpElicitor>>,
    /// Dropped with the request, which ends the questions that belong to it.
    alive: watch::Sender<()>,
}

/// Who answers a question that came outside a result, until its request is over.
struct OpenElicitor {
    elicitor: Arc<dyn McpElicitor>,
    alive: watch::Receiver<()>,
}

/// What the server says of a task by itself, and how it names the task.
#[derive(Debug)]
struct FollowedSignals {
    id: String,
    progress_token: String,
    signals: Arc<TaskSignals>,
}

/// A request to a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Map<String, Value>,
    pub(crate) time_limit: Duration,
    /// Who answers the questions that the server asks meanwhile.
    pub(crate) elicitor: Option<Arc<dyn McpElicitor>>,
    /// Gets the progress that the server reports.
    pub(crate) progress: watch::Sender<Option<McpProgress>>,
}

impl ServerRequest {
    /// A request during which the server has nothing to ask.
    pub(crate) fn new(method: &'static str, params: Map<String, Value>, time_limit: Duration) -> ServerRequest {
        ServerRequest { method, params, time_limit, elicitor: None, progress: watch::Sender::default() }
    }
}

impl ServerLink {
    pub(crate) fn new(server: &str, transport: Arc<dyn McpTransport>, options: McpOptions) -> ServerLink {
        ServerLink {
            server: server.to_owned(),
            transport,
            options,
            revision: OnceLock::new(),
            next_id: AtomicU64::new(1),
            open: Mutex::default(),
            followed: Mutex::default(),
            tool_changes: AtomicU64::new(0),
            sessions: AsyncMutex::new(0),
            session_begun: Notify::new(),
            background: Mutex::default(),
        }
    }

    /// The negotiated revision; that with a handshake until it is known.
    pub(crate) fn revision(&self) -> McpRevision {
        self.revision.get().copied().unwrap_or(McpRevision::Session)
    }

    pub(crate) fn use_revision(&self, revision: McpRevision, version: &str) {
        // It is negotiated once.
        let _negotiated = self.revision.set(revision);
        self.transport.negotiated(revision, version);
    }

    /// How often the server reported that its tools changed.
    pub(crate) fn tool_changes(&self) -> u64 {
        self.tool_changes.load(Ordering::Relaxed)
    }

    /// Sends a request and waits for its result. A request that takes too long, or whose future is dropped, is
    /// cancelled at the server. If the server has ended the session, the request is made in a new one: it was not read.
    pub(crate) async fn request(&self, request: ServerRequest) -> Result<Map<String, Value>, McpError> {
        let session = *self.sessions.lock().await;
        match self.request_in_session(request.clone()).await {
            Err(SessionRequestError::SessionExpired) => {
                self.begin_another_session(session).await?;
                self.request_in_session(request).await.map_err(|error| self.described(error))
            }
            result => result.map_err(|error| self.described(error)),
        }
    }

    /// Begins a session after this one, unless that has happened meanwhile.
    async fn begin_another_session(&self, expired: u64) -> Result<(), McpError> {
        let mut sessions = self.sessions.lock().await;
        if *sessions == expired {
            server::initialize(self).await?;
            *sessions += 1;
            self.session_begun.notify_one();
            // The tools may be others now.
            self.tool_changes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Sends the request that begins a session.
    pub(crate) async fn request_session(&self, request: ServerRequest) -> Result<Map<String, Value>, McpError> {
        self.request_in_session(request).await.map_err(|error| self.described(error))
    }

    fn described(&self, error: SessionRequestError) -> McpError {
        match error {
            SessionRequestError::SessionExpired => self.unreachable(&TransportError::SessionExpired.to_string()),
            SessionRequestError::Failed(error) => error,
        }
    }

    async fn request_in_session(&self, request: ServerRequest) -> Result<Map<String, Value>, SessionRequestError> {
        let ServerRequest { method, mut params, time_limit, elicitor, progress } = request;
        if self.revision() == McpRevision::Stateless {
            revision::add_stateless_meta(&mut params, &self.options);
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let progress_token = params.get("_meta").and_then(|meta| meta["progressToken"].as_str()).map(str::to_owned);
        let open =
            OpenRequest { progress_token, progress: progress.clone(), elicitor, alive: watch::Sender::default() };
        lock(&self.open).insert(id, open);
        let mut pending = PendingRequest { link: self, id, cancels: true };
        let sent = timeout(time_limit, self.transport.send(wire::request(id, method, Value::Object(params)))).await;
        pending.cancels = false;
        lock(&self.open).remove(&id);
        let Ok(sent) = sent else {
            let progress = progress.borrow().as_ref().map(McpProgress::to_string);
            self.send_in_time(cancelled_message(id, "timed out"), CANCEL_WAIT).await;
            let server = self.server.clone();
            return Err(McpError::TimedOut { server, method, after: time_limit, progress }.into());
        };
        match wire::read_response(id, sent.map_err(|error| self.not_sent(error))?) {
            McpResponse::Result(result) => Ok(result),
            McpResponse::Error { code, message } => {
                Err(McpError::Refused { server: self.server.clone(), method, code, message }.into())
            }
            McpResponse::Malformed(what) => Err(self.malformed(method, what).into()),
        }
    }

    fn not_sent(&self, error: TransportError) -> SessionRequestError {
        match error {
            TransportError::SessionExpired => SessionRequestError::SessionExpired,
            TransportError::Access(why) => McpError::NoAccess { server: self.server.clone(), why }.into(),
            TransportError::Failed(why) => self.unreachable(&why).into(),
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &'static str, time_limit: Duration) -> Result<(), McpError> {
        match timeout(time_limit, self.transport.send(wire::notification(method, json!({})))).await {
            Ok(Ok(_anything)) => Ok(()),
            Ok(Err(error)) => Err(self.described(self.not_sent(error))),
            Err(_elapsed) => {
                let server = self.server.clone();
                Err(McpError::TimedOut { server, method, after: time_limit, progress: None })
            }
        }
    }

    /// Passes on what the server says of a task by itself; returns the key to end that.
    pub(crate) fn follow(&self, task: &McpRemoteTask, signals: Arc<TaskSignals>) -> u64 {
        let McpRemoteTask { id, progress_token, .. } = task.clone();
        let key = self.next_id.fetch_add(1, Ordering::Relaxed);
        lock(&self.followed).insert(key, FollowedSignals { id, progress_token, signals });
        key
    }

    pub(crate) fn unfollow(&self, key: u64) {
        lock(&self.followed).remove(&key);
    }

    fn send_in_background(&self, message: Value, time_limit: Duration) {
        let transport = Arc::clone(&self.transport);
        let mut background = lock(&self.background);
        while background.try_join_next().is_some() {}
        background.spawn(async move {
            if !matches!(timeout(time_limit, transport.send(message)).await, Ok(Ok(_))) {
                tracing::debug!("cannot send a message to an MCP server");
            }
        });
    }

    /// Answers a request of the server, unless it does not read its answers.
    fn answer_in_background(&self, answer: Value) {
        if lock(&self.background).len() < MAX_UNREAD_ANSWERS {
            self.send_in_background(answer, ANSWER_WAIT);
        }
    }

    async fn send_in_time(&self, message: Value, time_limit: Duration) {
        if !matches!(timeout(time_limit, self.transport.send(message)).await, Ok(Ok(_))) {
            tracing::debug!(server = self.server, "cannot send a message to an MCP server");
        }
    }

    /// Answers the server's own messages until its connection ends.
    pub(crate) async fn handle_messages(self: Arc<Self>, mut messages: mpsc::Receiver<Value>) {
        // Questions to the user take long and must not hold up the other messages.
        let mut questions = JoinSet::new();
        while let Some(message) = messages.recv().await {
            while questions.try_join_next().is_some() {}
            let method = message["method"].as_str().unwrap_or_default();
            match message.get("id").filter(|id| !id.is_null()) {
                None => self.handle_notification(method, &message["params"]),
                Some(id) if method == "elicitation/create" && questions.len() >= MAX_QUESTIONS => {
                    self.answer_in_background(wire::error(id, INTERNAL_ERROR, "too many questions are open"));
                }
                Some(id) if method == "elicitation/create" => {
                    let (link, id, params) = (Arc::clone(&self), id.clone(), message["params"].clone());
                    questions.spawn(async move {
                        let answer = match link.newest_elicitor() {
                            Some(OpenElicitor { elicitor, mut alive }) => tokio::select! {
                                answer = elicitor.elicit(&link.server, &params) => answer,
                                // Its request is over. The user has not answered: whoever asks for the same task
                                // again is asked again.
                                _over = alive.changed() => return,
                            },
                            None => elicitation::cancelled(),
                        };
                        link.send_in_time(wire::result(&id, answer), ANSWER_WAIT).await;
                    });
                }
                Some(id) if method == "sampling/createMessage" && questions.len() >= MAX_QUESTIONS => {
                    self.answer_in_background(wire::error(id, INTERNAL_ERROR, "too many questions are open"));
                }
                Some(id) if method == "sampling/createMessage" && self.options.sampling == SamplingPolicy::Allowed => {
                    let (link, id, params) = (Arc::clone(&self), id.clone(), message["params"].clone());
                    questions.spawn(async move {
                        let answer = match link.sample(link.newest_elicitor().map(|open| open.elicitor), &params).await
                        {
                            Ok(result) => wire::result(&id, result),
                            Err(why) => wire::error(&id, USER_REJECTED, &why),
                        };
                        link.send_in_time(answer, ANSWER_WAIT).await;
                    });
                }
                Some(id) => self.answer_in_background(self.answer(id, method)),
            }
        }
    }

    fn handle_notification(&self, method: &str, params: &Value) {
        match method {
            "notifications/tools/list_changed" => drop(self.tool_changes.fetch_add(1, Ordering::Relaxed)),
            "notifications/progress" => self.note_progress(params),
            "notifications/tasks" | "notifications/tasks/status" => {
                let followed = lock(&self.followed);
                followed
                    .values()
                    .filter(|task| params["taskId"] == task.id)
                    .for_each(|task| task.signals.set_changed());
            }
            "notifications/message" => {
                let text = clip_middle(&params["data"].to_string(), MAX_PROGRESS_BYTES);
                tracing::debug!(server = self.server, text, "log of an MCP server");
            }
            _other => {}
        }
    }

    fn note_progress(&self, params: &Value) {
        let Some(progress) = read_progress(params) else { return };
        let is_meant = |token: &str| params["progressToken"] == token;
        let open = lock(&self.open);
        if let Some(request) = open.values().find(|open| open.progress_token.as_deref().is_some_and(is_meant)) {
            request.progress.send_replace(Some(progress));
            return;
        }
        drop(open);
        if let Some(task) = lock(&self.followed).values().find(|task| is_meant(&task.progress_token)) {
            task.signals.set_progress(progress);
        }
    }

    /// The response to a request of the server that needs no decision of the user.
    fn answer(&self, id: &Value, method: &str) -> Value {
        match method {
            "ping" => wire::result(id, json!({})),
            "roots/list" => wire::result(id, self.roots()),
            _other => wire::error(id, METHOD_NOT_FOUND, "this client does not do that"),
        }
    }

    /// The folders that the server may work with.
    fn roots(&self) -> Value {
        let roots = self.options.roots.iter().map(|root| {
            let name = root.file_name().unwrap_or_default().to_string_lossy();
            json!({ "uri": file_uri(root), "name": name })
        });
        json!({ "roots": roots.collect::<Vec<Value>>() })
    }

    /// The elicitor of the newest request: a server with a handshake does not say which one its question belongs to.
    fn newest_elicitor(&self) -> Option<OpenElicitor> {
        lock(&self.open).values().rev().find_map(|request| {
            let elicitor = request.elicitor.clone()?;
            Some(OpenElicitor { elicitor, alive: request.alive.subscribe() })
        })
    }

    async fn elicit(&self, elicitor: Option<Arc<dyn McpElicitor>>, params: &Value) -> Value {
        match elicitor {
            Some(elicitor) => elicitor.elicit(&self.server, params).await,
            None => elicitation::cancelled(),
        }
    }

    /// Asks the session's model; the error text says why that is not possible.
    async fn sample(&self, elicitor: Option<Arc<dyn McpElicitor>>, params: &Value) -> Result<Value, String> {
        match elicitor {
            Some(elicitor) => elicitor.sample(&self.server, params).await,
            None => Err("no agent is calling a tool of this server".into()),
        }
    }

    /// The responses to requests that came inside a result, by their keys. Fails if these are too many.
    pub(crate) async fn answer_inputs(
        &self,
        method: &'static str,
        requests: &Map<String, Value>,
        elicitor: Option<&Arc<dyn McpElicitor>>,
    ) -> Result<Map<String, Value>, McpError> {
        if requests.len() > MAX_QUESTIONS {
            let count = requests.len();
            return Err(self.malformed(
                method,
                format!("it asked {count} questions at once; at most {MAX_QUESTIONS} are allowed"),
            ));
        }
        let mut responses = Map::new();
        for (key, request) in requests {
            let response = match request["method"].as_str().unwrap_or_default() {
                "elicitation/create" => self.elicit(elicitor.cloned(), &request["params"]).await,
                "roots/list" => self.roots(),
                "sampling/createMessage" if self.options.sampling == SamplingPolicy::Allowed => {
                    match self.sample(elicitor.cloned(), &request["params"]).await {
                        Ok(result) => result,
                        Err(why) => json!({ "error": { "code": USER_REJECTED, "message": why } }),
                    }
                }
                // The server asks for something that was not offered.
                _other => json!({ "error": { "code": METHOD_NOT_FOUND, "message": "this client does not do that" } }),
            };
            responses.insert(key.clone(), response);
        }
        Ok(responses)
    }

    pub(crate) fn unreachable(&self, why: &str) -> McpError {
        McpError::Unreachable { server: self.server.clone(), why: clip_middle(why, MAX_ERROR_BYTES) }
    }

    pub(crate) fn malformed(&self, method: &'static str, what: impl Into<String>) -> McpError {
        McpError::Malformed { server: self.server.clone(), method, what: what.into() }
    }
}

/// Why a request has no result.
enum SessionRequestError {
    /// The server did not read it, since its session is over.
    SessionExpired,
    Failed(McpError),
}

impl From<McpError> for SessionRequestError {
    fn from(error: McpError) -> SessionRequestError {
        SessionRequestError::Failed(error)
    }
}

/// Cancels a request when its caller stops waiting.
struct PendingRequest<'a> {
    link: &'a ServerLink,
    id: u64,
    cancels: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if self.cancels {
            lock(&self.link.open).remove(&self.id);
            self.link.send_in_background(cancelled_message(self.id, "cancelled"), CANCEL_WAIT);
        }
    }
}

fn cancelled_message(id: u64, reason: &str) -> Value {
    wire::notification("notifications/cancelled", json!({ "requestId": id, "reason": reason }))
}

fn read_progress(params: &Value) -> Option<McpProgress> {
    let done = params["progress"].as_number()?.clone();
    let message = params["message"].as_str().map(str::trim).filter(|message| !message.is_empty());
    let message = message.map(|message| clip_middle(message, MAX_PROGRESS_BYTES));
    Some(McpProgress { done, total: params["total"].as_number().cloned(), message })
}

fn file_uri(path: &std::path::Path) -> String {
    url::Url::from_file_path(path).map(String::from).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::McpResponseFuture;

    /// A server that answers nothing, and what it was sent.
    #[derive(Debug)]
    struct SilentServer(mpsc::UnboundedSender<Value>);

    impl McpTransport for SilentServer {
        fn send(&self, message: Value) -> McpResponseFuture<'_> {
            let is_request = message.get("method").is_some();
            drop(self.0.send(message));
            Box::pin(async move { if is_request { std::future::pending().await } else { Ok(Value::Null) } })
        }
    }

    /// A user who does not answer.
    #[derive(Debug)]
    struct AbsentUser;

    impl McpElicitor for AbsentUser {
        fn elicit<'a>(&'a self, _server: &'a str, _params: &'a Value) -> tools::BoxFuture<'a, Value> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test]
    async fn a_limited_number_of_questions_is_open_at_once() {
        let (sender, mut sent) = mpsc::unbounded_channel();
        let link = Arc::new(ServerLink::new("calc", Arc::new(SilentServer(sender)), McpOptions::default()));
        let (server, messages) = mpsc::channel(100);
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&link).handle_messages(messages));
        let (calling, elicitor) = (Arc::clone(&link), Some(Arc::new(AbsentUser) as Arc<dyn McpElicitor>));
        tasks.spawn(async move {
            let (params, time_limit) = (Map::new(), Duration::from_secs(60));
            let call = ServerRequest { elicitor, ..ServerRequest::new("tools/call", params, time_limit) };
            drop(calling.request(call).await);
        });
        assert_eq!(sent.recv().await.unwrap()["method"], "tools/call");
        for id in 0..MAX_QUESTIONS + 3 {
            server.send(json!({ "id": id, "method": "elicitation/create", "params": {} })).await.unwrap();
        }
        for id in MAX_QUESTIONS..MAX_QUESTIONS + 3 {
            assert_eq!(sent.recv().await, Some(wire::error(&json!(id), INTERNAL_ERROR, "too many questions are open")));
        }
        assert!(sent.try_recv().is_err(), "the others wait for the user");
    }
}
