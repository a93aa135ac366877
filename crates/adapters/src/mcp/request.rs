//! A request of a client, as a provider sees it: who asks, and what can be sent back before the answer.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::log_level::LogLevel;
use super::message_sink::MessageSink;
use super::revision::{self, LOG_LEVEL_META};
use super::session::McpSession;
use super::{McpClientProfile, McpFault, McpReply, ServedRevision};

/// A request of a client.
#[derive(Debug, Clone)]
pub struct McpRequest {
    client: RequestClient,
    progress_token: Option<Value>,
    task_wish: TaskWish,
    sink: MessageSink,
}

#[derive(Debug, Clone)]
enum RequestClient {
    Session(Arc<McpSession>),
    Stateless(Box<StatelessClient>),
}

/// What a request of a client without a session carries.
#[derive(Debug, Clone)]
struct StatelessClient {
    profile: McpClientProfile,
    log_level: Option<LogLevel>,
    /// The answers to requests that an earlier reply contained.
    responses: Map<String, Value>,
    /// The state of that reply.
    state: Option<String>,
}

/// Whether the client wants a call to become a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskWish {
    /// It wants the result.
    Result,
    /// It follows a task if the call becomes one.
    Either,
    /// It wants a task.
    Task,
}

/// What became of requests to a client.
#[derive(Debug, Clone, PartialEq)]
pub enum InputOutcome {
    /// The answers, by the keys of the requests.
    Answered(Map<String, Value>),
    /// The client answers in another request; this is the reply to the present one.
    Later(McpReply),
}

impl McpRequest {
    /// A request in a session.
    pub(crate) fn in_session(session: &Arc<McpSession>, params: &Map<String, Value>, sink: MessageSink) -> McpRequest {
        let task_wish = match params.get("task") {
            Some(Value::Object(_)) if revision::has_tasks(session.version) => TaskWish::Task,
            Some(_) | None => TaskWish::Result,
        };
        let client = RequestClient::Session(Arc::clone(session));
        McpRequest { client, progress_token: progress_token(params), task_wish, sink }
    }

    /// A request of a client without a session.
    pub(crate) fn stateless(params: &Map<String, Value>, sink: MessageSink) -> McpRequest {
        let meta = params.get("_meta").unwrap_or(&Value::Null);
        let profile = McpClientProfile::of_meta(meta);
        let task_wish = if profile.has_tasks() { TaskWish::Either } else { TaskWish::Result };
        let client = StatelessClient {
            profile,
            log_level: meta[LOG_LEVEL_META].as_str().and_then(LogLevel::from_name),
            responses: params.get("inputResponses").and_then(Value::as_object).cloned().unwrap_or_default(),
            state: params.get("requestState").and_then(Value::as_str).map(str::to_owned),
        };
        let client = RequestClient::Stateless(Box::new(client));
        McpRequest { client, progress_token: progress_token(params), task_wish, sink }
    }

    /// What the client says about itself.
    pub fn client(&self) -> &McpClientProfile {
        match &self.client {
            RequestClient::Session(session) => &session.client,
            RequestClient::Stateless(client) => &client.profile,
        }
    }

    /// The family of revisions that the client speaks.
    pub fn revision(&self) -> ServedRevision {
        match &self.client {
            RequestClient::Session(_) => ServedRevision::Session,
            RequestClient::Stateless(_) => ServedRevision::Stateless,
        }
    }

    /// Whether the client wants the call to become a task.
    pub fn task_wish(&self) -> TaskWish {
        self.task_wish
    }

    /// The state of the reply that this request continues.
    pub fn state(&self) -> Option<&str> {
        match &self.client {
            RequestClient::Session(_) => None,
            RequestClient::Stateless(client) => client.state.as_deref(),
        }
    }

    /// The answers to the requests of that reply.
    pub fn responses(&self) -> Option<&Map<String, Value>> {
        match &self.client {
            RequestClient::Session(_) => None,
            RequestClient::Stateless(client) => Some(&client.responses),
        }
    }

    /// Reports progress, if the client wants it. `progress` only grows.
    pub async fn report_progress(&self, progress: u64, total: Option<u64>, message: &str) {
        let Some(token) = &self.progress_token else { return };
        let mut params = json!({ "progressToken": token, "progress": progress });
        if let Some(total) = total {
            params["total"] = total.into();
        }
        if !message.is_empty() {
            params["message"] = message.into();
        }
        // The result of a client that has left is not needed either.
        self.sink.notify("notifications/progress", params).await.ok();
    }

    /// Sends a log message, if the client wants messages of this level.
    pub async fn log(&self, level: LogLevel, text: &str) {
        let least = match &self.client {
            RequestClient::Session(session) => Some(session.log_level()),
            RequestClient::Stateless(client) => client.log_level,
        };
        if least.is_some_and(|least| level >= least) {
            let params = json!({ "level": level.as_str(), "data": text });
            self.sink.notify("notifications/message", params).await.ok();
        }
    }

    /// Sends the client requests, each with a `method` and `params`, or asks it to answer them in another request. An
    /// answer that is not an object counts as missing.
    pub async fn ask(
        &self,
        requests: Map<String, Value>,
        state: impl FnOnce() -> Option<String> + Send,
    ) -> Result<InputOutcome, McpFault> {
        for request in requests.values() {
            self.client().require_input(request["method"].as_str().unwrap_or_default())?;
        }
        match &self.client {
            RequestClient::Session(session) => {
                let mut answers = Map::new();
                for (key, mut request) in requests {
                    let method = request["method"].as_str().unwrap_or_default().to_owned();
                    let params = match request["params"].take() {
                        Value::Object(params) => params,
                        _none => Map::new(),
                    };
                    answers.insert(key, session.request(&self.sink, &method, params).await?);
                }
                Ok(InputOutcome::Answered(answers))
            }
            RequestClient::Stateless(client) => {
                let answer = |key: &String| Some((key.clone(), client.responses.get(key)?.clone()));
                let answers: Map<String, Value> =
                    requests.keys().filter_map(answer).filter(|(_, answer)| answer.is_object()).collect();
                match answers.len() == requests.len() {
                    true => Ok(InputOutcome::Answered(answers)),
                    false => Ok(InputOutcome::Later(McpReply::InputRequired { requests, state: state() })),
                }
            }
        }
    }
}

fn progress_token(params: &Map<String, Value>) -> Option<Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then(|| token.clone())
}
