//! Answers the methods that are the same in both revisions: tools, and what a provider answers itself. What differs is
//! in `session_methods` and `stateless_methods`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::revision::{self, TASKS_EXTENSION};
use super::{
    McpFault, McpProvider, McpReply, McpRequest, ProvidedCall, ProvidedTool, ServedRevision, ServerFeature,
    TaskSupport, TaskWish,
};

/// Answers requests for what a provider offers.
pub(crate) struct McpResponder {
    pub(crate) provider: Arc<dyn McpProvider>,
}

impl McpResponder {
    pub(crate) fn new(provider: Arc<dyn McpProvider>) -> McpResponder {
        McpResponder { provider }
    }

    pub(crate) fn has(&self, feature: ServerFeature) -> bool {
        self.provider.features().contains(&feature)
    }

    /// What the server can do, as clients of this revision get it.
    pub(crate) fn capabilities(&self, revision: ServedRevision, has_session_tasks: bool) -> Value {
        let mut capabilities = Map::new();
        let lists = match self.has(ServerFeature::ListChanges) {
            true => json!({ "listChanged": true }),
            false => json!({}),
        };
        capabilities.insert("tools".into(), lists.clone());
        if self.has(ServerFeature::Prompts) {
            capabilities.insert("prompts".into(), lists.clone());
        }
        if self.has(ServerFeature::Resources) {
            let mut resources = lists;
            resources["subscribe"] = true.into();
            capabilities.insert("resources".into(), resources);
        }
        if self.has(ServerFeature::Completions) {
            capabilities.insert("completions".into(), json!({}));
        }
        if self.has(ServerFeature::Logging) {
            capabilities.insert("logging".into(), json!({}));
        }
        match revision {
            ServedRevision::Stateless if self.has(ServerFeature::Tasks) => {
                capabilities.insert("extensions".into(), json!({ TASKS_EXTENSION: {} }));
            }
            ServedRevision::Session if has_session_tasks => {
                let tasks = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
                capabilities.insert("tasks".into(), tasks);
            }
            ServedRevision::Stateless | ServedRevision::Session => {}
        }
        Value::Object(capabilities)
    }

    /// The tools for a client.
    pub(crate) fn list_tools(&self, request: &McpRequest, has_session_tasks: bool) -> Map<String, Value> {
        let tools = self.provider.tools(request);
        let forms: Vec<Value> = tools.into_iter().map(|tool| tool_form(tool, has_session_tasks)).collect();
        Map::from_iter([("tools".to_owned(), Value::Array(forms))])
    }

    /// The tool with this name.
    pub(crate) fn tool(&self, name: &str, request: &McpRequest) -> Result<ProvidedTool, McpFault> {
        let tool = self.provider.tools(request).into_iter().find(|tool| tool.name == name);
        tool.ok_or_else(|| McpFault::invalid_params(format!("there is no tool `{}`", protocol::clip_middle(name, 100))))
    }

    /// Calls a tool.
    pub(crate) async fn call_tool(
        &self,
        params: &Map<String, Value>,
        request: &McpRequest,
    ) -> Result<McpReply, McpFault> {
        let name = text_param(params, "name")?;
        let tool = self.tool(name, request)?;
        check_task_wish(&tool, request)?;
        let arguments = match params.get("arguments") {
            Some(Value::Object(arguments)) => arguments.clone(),
            None | Some(Value::Null) => Map::new(),
            Some(_other) => return Err(McpFault::invalid_params("`arguments` is not an object")),
        };
        self.provider.call(ProvidedCall { tool: name.to_owned(), arguments }, request).await
    }

    /// Answers a method that the provider answers itself.
    pub(crate) async fn answer_provided(
        &self,
        method: &str,
        params: &Map<String, Value>,
        request: &McpRequest,
    ) -> Result<McpReply, McpFault> {
        let answer = match feature_of(method) {
            Some(feature) if self.has(feature) => self.provider.answer(method, params, request),
            Some(_) | None => None,
        };
        answer.ok_or_else(|| McpFault::unknown_method(method))?.await
    }

    /// Whether the provider answers this method itself.
    pub(crate) fn provides(&self, method: &str) -> bool {
        feature_of(method).is_some_and(|feature| self.has(feature))
    }
}

/// The part of the protocol that a method of a provider belongs to.
fn feature_of(method: &str) -> Option<ServerFeature> {
    match method {
        "resources/list" | "resources/templates/list" | "resources/read" => Some(ServerFeature::Resources),
        "prompts/list" | "prompts/get" => Some(ServerFeature::Prompts),
        "completion/complete" => Some(ServerFeature::Completions),
        _other => None,
    }
}

/// Refuses a call that may not become the task that its client or its tool wants.
fn check_task_wish(tool: &ProvidedTool, request: &McpRequest) -> Result<(), McpFault> {
    match (tool.tasks, request.task_wish(), request.revision()) {
        (TaskSupport::Required, TaskWish::Result, ServedRevision::Stateless) => Err(McpFault::missing_tasks()),
        (TaskSupport::Required, TaskWish::Result, ServedRevision::Session) => {
            Err(McpFault::unknown_method("tools/call of this tool without `task`"))
        }
        (TaskSupport::Forbidden, TaskWish::Task, _) => {
            Err(McpFault::unknown_method("tools/call of this tool with `task`"))
        }
        (TaskSupport::Required | TaskSupport::Optional | TaskSupport::Forbidden, _, _) => Ok(()),
    }
}

fn tool_form(tool: ProvidedTool, has_session_tasks: bool) -> Value {
    let ProvidedTool { name, title, description, input_schema, output_schema, effect, tasks } = tool;
    let mut form = json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": input_schema,
        "annotations": effect.annotations(),
    });
    if let Some(schema) = output_schema {
        form["outputSchema"] = schema;
    }
    if has_session_tasks {
        form["execution"] = json!({ "taskSupport": tasks.as_str() });
    }
    form
}

/// A parameter that must be a text.
pub(crate) fn text_param<'a>(params: &'a Map<String, Value>, name: &str) -> Result<&'a str, McpFault> {
    let text = params.get(name).and_then(Value::as_str);
    text.ok_or_else(|| McpFault::invalid_params(format!("`{name}` is missing, or not a string")))
}

/// The parameters of a request, which may be absent.
pub(crate) fn object_params(params: Value) -> Result<Map<String, Value>, McpFault> {
    match params {
        Value::Object(params) => Ok(params),
        Value::Null => Ok(Map::new()),
        _other => Err(McpFault::incomplete("`params` is not an object")),
    }
}

/// Whether sessions of this revision have tasks here.
pub(crate) fn has_session_tasks(responder: &McpResponder, version: &str) -> bool {
    responder.has(ServerFeature::Tasks) && revision::has_tasks(version)
}
