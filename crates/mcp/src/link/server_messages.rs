//! The messages that a server sends by itself: notifications, and questions to the user or the model.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use protocol::{McpProgress, clip_middle};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::ServerLink;
use super::server_link::lock;
use crate::elicitation::{self, McpElicitor};
use crate::{McpError, SamplingPolicy, wire};

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

/// How long a server may take to read an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// A request of the server that takes as long as its answer is sought.
#[derive(Debug, Clone, Copy)]
enum ServerQuestion {
    /// To the user.
    Elicitation,
    /// To the session's model.
    Sampling,
}

/// Who answers a question that came outside a result, until its request is over.
struct OpenElicitor {
    elicitor: Arc<dyn McpElicitor>,
    alive: watch::Receiver<()>,
}

impl ServerLink {
    /// Answers the server's own messages until its connection ends.
    pub(crate) async fn handle_messages(self: Arc<Self>, mut messages: mpsc::Receiver<Value>) {
        // Questions take long and must not hold up the other messages.
        let mut questions = JoinSet::new();
        while let Some(message) = messages.recv().await {
            while questions.try_join_next().is_some() {}
            let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
            let Some(id) = message.get("id").filter(|id| !id.is_null()) else {
                self.handle_notification(method, params);
                continue;
            };
            match self.question_of(method) {
                None => self.answer_in_background(self.answer(id, method)),
                Some(_) if questions.len() >= MAX_QUESTIONS => {
                    self.answer_in_background(wire::error(id, INTERNAL_ERROR, "too many questions are open"));
                }
                Some(question) => {
                    questions.spawn(Arc::clone(&self).answer_question(question, id.clone(), params.clone()));
                }
            }
        }
    }

    fn question_of(&self, method: &str) -> Option<ServerQuestion> {
        match method {
            "elicitation/create" => Some(ServerQuestion::Elicitation),
            "sampling/createMessage" if self.options.sampling == SamplingPolicy::Allowed => {
                Some(ServerQuestion::Sampling)
            }
            _other => None,
        }
    }

    async fn answer_question(self: Arc<Self>, question: ServerQuestion, id: Value, params: Value) {
        let answer = match (question, self.newest_elicitor()) {
            (ServerQuestion::Elicitation, None) => wire::result(&id, elicitation::cancelled()),
            (ServerQuestion::Elicitation, Some(OpenElicitor { elicitor, mut alive })) => tokio::select! {
                answer = elicitor.elicit(&self.server, &params) => wire::result(&id, answer),
                // Its request is over. The user has not answered: whoever asks for the same task again is asked again.
                _over = alive.changed() => return,
            },
            (ServerQuestion::Sampling, open) => match self.sample(open.map(|open| open.elicitor), &params).await {
                Ok(result) => wire::result(&id, result),
                Err(why) => wire::error(&id, USER_REJECTED, &why),
            },
        };
        self.send_in_time(answer, ANSWER_WAIT).await;
    }

    /// Answers a request of the server, unless it does not read its answers.
    fn answer_in_background(&self, answer: Value) {
        if lock(&self.background).len() < MAX_UNREAD_ANSWERS {
            self.send_in_background(answer, ANSWER_WAIT);
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

#[cfg(test)]
mod tests {
    use super::super::ServerRequest;
    use super::*;
    use crate::{McpOptions, McpResponseFuture, McpTransport};

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
