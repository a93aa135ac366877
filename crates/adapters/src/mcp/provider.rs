//! What an MCP server offers. The protocol around it, in both revisions and over every transport, is the same for all.

use std::pin::Pin;
use std::time::Duration;

use protocol::Timestamp;
use rpc::ErrorObject;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use super::{McpFault, McpRequest};

/// Something that takes time.
pub type McpFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The answer to a request, while it is found.
pub type ReplyFuture<'a> = McpFuture<'a, Result<McpReply, McpFault>>;

/// What a server offers.
pub trait McpProvider: Send + Sync + 'static {
    /// Who the server is.
    fn identity(&self) -> ServerIdentity;

    /// What it has besides tools.
    fn features(&self) -> &[ServerFeature];

    /// The tools for a client, always in the same order.
    fn tools(&self, request: &McpRequest) -> Vec<ProvidedTool>;

    /// Calls one of the tools.
    fn call<'a>(&'a self, call: ProvidedCall, request: &'a McpRequest) -> ReplyFuture<'a>;

    /// Answers a method about resources, prompts or completions; none if the server has no such method.
    fn answer<'a>(
        &'a self,
        _method: &'a str,
        _params: &'a Map<String, Value>,
        _request: &'a McpRequest,
    ) -> Option<ReplyFuture<'a>> {
        None
    }

    /// The current state of a task.
    fn task<'a>(&'a self, id: &'a str, request: &'a McpRequest) -> McpFuture<'a, Result<ProvidedTask, McpFault>>;

    /// The state of a task as soon as it differs from an earlier one.
    fn next_task<'a>(
        &'a self,
        earlier: &'a ProvidedTask,
        request: &'a McpRequest,
    ) -> McpFuture<'a, Result<ProvidedTask, McpFault>>;

    /// A page of the tasks, newest first.
    fn tasks(&self, page: TasksPagePosition) -> McpFuture<'_, Result<ProvidedTasks, McpFault>>;

    /// Cancels a task; nothing happens to one that has ended.
    fn cancel_task<'a>(&'a self, id: &'a str) -> McpFuture<'a, Result<(), McpFault>>;

    /// Answers what a task asks for. Unknown keys are ignored.
    fn answer_task<'a>(
        &'a self,
        id: &'a str,
        responses: &'a Map<String, Value>,
        request: &'a McpRequest,
    ) -> McpFuture<'a, Result<(), McpFault>>;

    /// Everything that changes from now on.
    fn changes(&self) -> broadcast::Receiver<ProviderChange>;
}

/// Who a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerIdentity {
    /// Its name for programs.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its version.
    pub version: &'static str,
    /// How models should use it.
    pub instructions: Option<String>,
}

impl ServerIdentity {
    /// The identity as clients get it.
    pub(crate) fn info(&self) -> Value {
        json!({ "name": self.name, "title": self.title, "version": self.version })
    }
}

/// A part of the protocol that a server may have besides tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerFeature {
    /// Calls may become tasks.
    Tasks,
    /// It has resources.
    Resources,
    /// It has prompts.
    Prompts,
    /// It completes arguments.
    Completions,
    /// It sends log messages.
    Logging,
    /// It reports changes of its lists.
    ListChanges,
}

/// A tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvidedTool {
    /// Its name for models.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// When and how to use it.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its structured result.
    pub output_schema: Option<Value>,
    /// What it changes.
    pub effect: ToolEffect,
    /// Whether its calls may become tasks.
    pub tasks: TaskSupport,
}

/// What a tool changes, as clients show it to their users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Nothing.
    Reads,
    /// It adds something.
    Adds,
    /// It may end or replace something.
    Changes,
}

impl ToolEffect {
    pub(crate) fn annotations(self) -> Value {
        match self {
            ToolEffect::Reads => json!({ "readOnlyHint": true, "openWorldHint": false }),
            ToolEffect::Adds => json!({ "readOnlyHint": false, "destructiveHint": false }),
            ToolEffect::Changes => json!({ "readOnlyHint": false, "destructiveHint": true }),
        }
    }
}

/// Whether calls of a tool may become tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSupport {
    /// Never.
    Forbidden,
    /// If the client follows tasks.
    Optional,
    /// Always; a client that follows no tasks cannot call it.
    Required,
}

impl TaskSupport {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            TaskSupport::Forbidden => "forbidden",
            TaskSupport::Optional => "optional",
            TaskSupport::Required => "required",
        }
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvidedCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum McpReply {
    /// The result.
    Complete(Map<String, Value>),
    /// The client sends the request again with these answers; only for clients without a session.
    InputRequired {
        /// The requests to the client, by keys that its answers have too.
        requests: Map<String, Value>,
        /// A text that the client returns unchanged.
        state: Option<String>,
    },
    /// The call became a task; only for clients that follow tasks.
    Task(ProvidedTask),
}

impl McpReply {
    /// A result of text.
    pub fn text(text: impl Into<String>) -> McpReply {
        McpReply::Complete(tool_result(text.into(), ToolSuccess::Succeeded))
    }

    /// The failure of a tool, which its model may act on.
    pub fn tool_error(text: impl Into<String>) -> McpReply {
        McpReply::Complete(tool_result(text.into(), ToolSuccess::Failed))
    }
}

/// Whether a tool did what it was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSuccess {
    /// It did.
    Succeeded,
    /// It did not.
    Failed,
}

/// The result of a tool: a text.
pub fn tool_result(text: String, success: ToolSuccess) -> Map<String, Value> {
    let mut result = Map::from_iter([("content".to_owned(), json!([{ "type": "text", "text": text }]))]);
    match success {
        ToolSuccess::Succeeded => {}
        ToolSuccess::Failed => drop(result.insert("isError".into(), Value::Bool(true))),
    }
    result
}

/// A call that became a task.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvidedTask {
    /// Its id.
    pub id: String,
    /// How far it is.
    pub state: ProvidedTaskState,
    /// How far it is, for people.
    pub message: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How long the server knows it, counted from its beginning; for ever when absent.
    pub ttl: Option<Duration>,
    /// How often clients should ask for its state.
    pub poll: Duration,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq)]
pub enum ProvidedTaskState {
    /// It works.
    Working,
    /// It waits for these requests to the client.
    InputRequired(Map<String, Value>),
    /// The call has this result, which may be a failure of the tool.
    Completed(Map<String, Value>),
    /// The call ended with an error of the protocol.
    Failed(ErrorObject),
    /// It was cancelled.
    Cancelled,
}

impl ProvidedTaskState {
    /// Whether it cannot change any more.
    pub fn is_final(&self) -> bool {
        match self {
            ProvidedTaskState::Completed(_) | ProvidedTaskState::Failed(_) | ProvidedTaskState::Cancelled => true,
            ProvidedTaskState::Working | ProvidedTaskState::InputRequired(_) => false,
        }
    }
}

/// Where a page of tasks begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TasksPagePosition {
    /// At the newest task.
    First,
    /// Where another page ended.
    After(String),
}

/// A page of tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProvidedTasks {
    /// The tasks.
    pub tasks: Vec<ProvidedTask>,
    /// Where the next page begins; none on the last page.
    pub next: Option<String>,
}

/// What changed.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderChange {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The content of a resource.
    Resource(String),
    /// The state of a task.
    Task(Box<ProvidedTask>),
}
