//! A session of a client that speaks 2025-11-25 or older: what the client can do, what it wants to hear of, and the
//! requests that it has not answered.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rpc::{ErrorObject, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::log_level::LogLevel;
use super::message_sink::MessageSink;
use super::{McpClientProfile, McpFault, ProviderChange, task_form};

/// How many resources and tasks a session may hear of.
const MAX_WATCHED: usize = 1000;

/// The level of log messages before the client sets one.
const DEFAULT_LOG_LEVEL: LogLevel = LogLevel::Info;

/// A session.
#[derive(Debug)]
pub(crate) struct McpSession {
    /// The client.
    pub(crate) client: McpClientProfile,
    /// The negotiated revision.
    pub(crate) version: &'static str,
    state: Mutex<McpSessionState>,
}

#[derive(Debug)]
struct McpSessionState {
    log_level: LogLevel,
    /// The resources whose changes the client wants to know.
    resources: BTreeSet<String>,
    /// The tasks that began in this session.
    tasks: BTreeSet<String>,
    /// The number of the latest request to the client.
    last_request: u64,
    /// The requests that the client has not answered.
    unanswered: HashMap<u64, oneshot::Sender<Result<Value, ErrorObject>>>,
}

impl McpSession {
    pub(crate) fn new(client: McpClientProfile, version: &'static str) -> McpSession {
        let state = McpSessionState {
            log_level: DEFAULT_LOG_LEVEL,
            resources: BTreeSet::new(),
            tasks: BTreeSet::new(),
            last_request: 0,
            unanswered: HashMap::new(),
        };
        McpSession { client, version, state: Mutex::new(state) }
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        self.lock().log_level
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.lock().log_level = level;
    }

    pub(crate) fn watch_resource(&self, uri: &str) -> Result<(), McpFault> {
        watch(&mut self.lock().resources, uri)
    }

    pub(crate) fn unwatch_resource(&self, uri: &str) {
        self.lock().resources.remove(uri);
    }

    /// Reports changes of a task from now on; of too many, the client asks for itself.
    pub(crate) fn watch_task(&self, id: &str) {
        watch(&mut self.lock().tasks, id).ok();
    }

    /// What the client is told of a change, if it wants to know.
    pub(crate) fn notification(&self, change: &ProviderChange) -> Option<RpcNotification> {
        let (method, params) = match change {
            ProviderChange::Tools => ("notifications/tools/list_changed", json!({})),
            ProviderChange::Prompts => ("notifications/prompts/list_changed", json!({})),
            ProviderChange::Resources => ("notifications/resources/list_changed", json!({})),
            ProviderChange::Resource(uri) if self.lock().resources.contains(uri) => {
                ("notifications/resources/updated", json!({ "uri": uri }))
            }
            ProviderChange::Task(task) if self.lock().tasks.contains(&task.id) => {
                ("notifications/tasks/status", Value::Object(task_form::session_task(task)))
            }
            ProviderChange::Resource(_) | ProviderChange::Task(_) => return None,
        };
        Some(RpcNotification { method: method.to_owned(), params })
    }

    /// Sends the client a request, and waits for the answer.
    pub(crate) async fn request(
        &self,
        sink: &MessageSink,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Value, McpFault> {
        self.client.require_input(method)?;
        let (sender, answer) = oneshot::channel();
        let unanswered = self.register(sender);
        let request = RpcRequest {
            id: RequestId::Number(unanswered.id.into()),
            method: method.to_owned(),
            params: Value::Object(params),
        };
        let gone = || McpFault::internal("the client has left");
        sink.send(RpcMessage::Request(request)).await.map_err(|_gone| gone())?;
        let answer = answer.await.map_err(|_closed| gone())?;
        drop(unanswered);
        answer.map_err(|error| McpFault::internal(format!("the client refuses `{method}`: {}", error.message)))
    }

    /// Takes the client's answer to a request; others are ignored.
    pub(crate) fn take_answer(&self, response: RpcResponse) {
        let Some(RequestId::Number(id)) = response.id else { return };
        let waiting = id.as_u64().and_then(|id| self.lock().unanswered.remove(&id));
        if let Some(waiting) = waiting {
            // Fails if the request was cancelled meanwhile.
            waiting.send(response.outcome).ok();
        }
    }

    fn register(&self, sender: oneshot::Sender<Result<Value, ErrorObject>>) -> UnansweredRequest<'_> {
        let mut state = self.lock();
        state.last_request += 1;
        let id = state.last_request;
        state.unanswered.insert(id, sender);
        UnansweredRequest { session: self, id }
    }

    fn lock(&self) -> MutexGuard<'_, McpSessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn watch(watched: &mut BTreeSet<String>, name: &str) -> Result<(), McpFault> {
    if watched.len() >= MAX_WATCHED {
        return Err(McpFault::invalid_params(format!("a session can watch at most {MAX_WATCHED} things")));
    }
    watched.insert(name.to_owned());
    Ok(())
}

/// Forgets a request to the client that nobody waits for any more.
struct UnansweredRequest<'a> {
    session: &'a McpSession,
    id: u64,
}

impl Drop for UnansweredRequest<'_> {
    fn drop(&mut self) {
        self.session.lock().unanswered.remove(&self.id);
    }
}
