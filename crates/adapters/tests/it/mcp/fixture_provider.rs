//! The provider that the conformance suite asks for: tools, resources and prompts with fixed names and answers.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bosun_adapters::mcp::{
    InputOutcome, McpFault, McpFuture, McpProvider, McpReply, McpRequest, ProvidedCall, ProvidedTask, ProvidedTasks,
    ProvidedTool, ProviderChange, ReplyFuture, ServerFeature, ServerIdentity, TasksPagePosition,
};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use super::fixture_tasks::FixtureTasks;
use super::fixture_tools;

/// A picture of one pixel.
pub(super) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// How long a fixture pauses between two steps.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// The provider of the fixtures.
pub(super) struct FixtureProvider {
    pub(super) tasks: FixtureTasks,
    pub(super) changes: broadcast::Sender<ProviderChange>,
    /// The states of replies that were given to clients.
    states: Mutex<BTreeSet<String>>,
}

impl FixtureProvider {
    pub(super) fn new() -> FixtureProvider {
        let (changes, _receiver) = broadcast::channel(64);
        FixtureProvider { tasks: FixtureTasks::new(changes.clone()), changes, states: Mutex::default() }
    }

    /// A state that clients cannot make up.
    pub(super) fn new_state(&self, name: &str) -> String {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = format!("{name}-{}", states.len());
        states.insert(state.clone());
        state
    }

    /// The state that a request returns, if it was given to a client.
    pub(super) fn known_state<'a>(&self, request: &'a McpRequest) -> Result<Option<&'a str>, McpFault> {
        let Some(state) = request.state() else { return Ok(None) };
        let is_known = self.states.lock().unwrap_or_else(PoisonError::into_inner).contains(state);
        if is_known { Ok(Some(state)) } else { Err(McpFault::invalid_params("the state was changed")) }
    }
}

impl McpProvider for FixtureProvider {
    fn identity(&self) -> ServerIdentity {
        ServerIdentity { name: "fixtures", title: "Fixtures", version: "1.0.0", instructions: None }
    }

    fn features(&self) -> &[ServerFeature] {
        &[
            ServerFeature::Tasks,
            ServerFeature::Resources,
            ServerFeature::Prompts,
            ServerFeature::Completions,
            ServerFeature::Logging,
            ServerFeature::ListChanges,
        ]
    }

    fn tools(&self, _request: &McpRequest) -> Vec<ProvidedTool> {
        fixture_tools::all()
    }

    fn call<'a>(&'a self, call: ProvidedCall, request: &'a McpRequest) -> ReplyFuture<'a> {
        Box::pin(fixture_tools::call(self, call, request))
    }

    fn answer<'a>(
        &'a self,
        method: &'a str,
        params: &'a Map<String, Value>,
        request: &'a McpRequest,
    ) -> Option<ReplyFuture<'a>> {
        match method {
            "prompts/get" => Some(Box::pin(get_prompt(params, request))),
            method => {
                let answer = answer(method, params)?;
                Some(Box::pin(async move { answer.map(complete) }))
            }
        }
    }

    fn task<'a>(&'a self, id: &'a str, _request: &'a McpRequest) -> McpFuture<'a, Result<ProvidedTask, McpFault>> {
        Box::pin(async move { self.tasks.find(id) })
    }

    fn next_task<'a>(
        &'a self,
        earlier: &'a ProvidedTask,
        _request: &'a McpRequest,
    ) -> McpFuture<'a, Result<ProvidedTask, McpFault>> {
        Box::pin(self.tasks.next(earlier))
    }

    fn tasks(&self, _page: TasksPagePosition) -> McpFuture<'_, Result<ProvidedTasks, McpFault>> {
        Box::pin(async move { Ok(ProvidedTasks { tasks: self.tasks.all(), next: None }) })
    }

    fn cancel_task<'a>(&'a self, id: &'a str) -> McpFuture<'a, Result<(), McpFault>> {
        Box::pin(async move { self.tasks.cancel(id) })
    }

    fn answer_task<'a>(
        &'a self,
        id: &'a str,
        responses: &'a Map<String, Value>,
        _request: &'a McpRequest,
    ) -> McpFuture<'a, Result<(), McpFault>> {
        Box::pin(async move { self.tasks.answer(id, responses) })
    }

    fn changes(&self) -> broadcast::Receiver<ProviderChange> {
        self.changes.subscribe()
    }
}

/// A complete reply with these fields.
pub(super) fn complete(fields: Value) -> McpReply {
    match fields {
        Value::Object(fields) => McpReply::Complete(fields),
        other => panic!("not an object: {other}"),
    }
}

/// Requests by their keys, from an object.
pub(super) fn requests(requests: Value) -> Map<String, Value> {
    match requests {
        Value::Object(requests) => requests,
        other => panic!("not an object: {other}"),
    }
}

/// A request for a form with one required field.
pub(super) fn form(message: &str, field: &str, kind: &str) -> Value {
    let properties = json!({ field: { "type": kind } });
    let schema = json!({ "type": "object", "properties": properties, "required": [field] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn answer(method: &str, params: &Map<String, Value>) -> Option<Result<Value, McpFault>> {
    Some(match method {
        "resources/list" => Ok(json!({ "resources": [
            { "uri": "test://static-text", "name": "text", "description": "A text", "mimeType": "text/plain" },
            { "uri": "test://static-binary", "name": "picture", "description": "A picture", "mimeType": "image/png" },
            { "uri": "test://watched-resource", "name": "watched", "description": "A text", "mimeType": "text/plain" },
        ] })),
        "resources/templates/list" => Ok(json!({ "resourceTemplates": [
            { "uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json" },
        ] })),
        "resources/read" => read_resource(params["uri"].as_str().unwrap_or_default()),
        "prompts/list" => Ok(json!({ "prompts": [
            { "name": "test_simple_prompt", "description": "A prompt" },
            { "name": "test_prompt_with_arguments", "description": "A prompt", "arguments": [
                { "name": "arg1", "description": "The first", "required": true },
                { "name": "arg2", "description": "The second", "required": true },
            ] },
            { "name": "test_prompt_with_embedded_resource", "description": "A prompt", "arguments": [
                { "name": "resourceUri", "description": "What to embed", "required": true },
            ] },
            { "name": "test_prompt_with_image", "description": "A prompt" },
            { "name": "test_input_required_result_prompt", "description": "A prompt that asks" },
        ] })),
        "completion/complete" => {
            Ok(json!({ "completion": { "values": ["test-value"], "total": 1, "hasMore": false } }))
        }
        _other => return None,
    })
}

fn read_resource(uri: &str) -> Result<Value, McpFault> {
    let template_id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, template_id) {
        ("test://static-text" | "test://watched-resource", _) => {
            json!({ "mimeType": "text/plain", "text": "This is the content of the static text resource." })
        }
        ("test://static-binary", _) => json!({ "mimeType": "image/png", "blob": PNG }),
        (_, Some(id)) => {
            let text = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "mimeType": "application/json", "text": text.to_string() })
        }
        (unknown, None) => return Err(McpFault::unknown_resource(unknown)),
    };
    let mut content = content;
    content["uri"] = uri.into();
    Ok(json!({ "contents": [content] }))
}

async fn get_prompt(params: &Map<String, Value>, request: &McpRequest) -> Result<McpReply, McpFault> {
    let argument =
        |name: &str| params.get("arguments").and_then(|all| all[name].as_str()).unwrap_or_default().to_owned();
    let text = |text: String| json!({ "role": "user", "content": { "type": "text", "text": text } });
    let messages = match params["name"].as_str().unwrap_or_default() {
        "test_simple_prompt" => json!([text("This is a simple prompt for testing.".into())]),
        "test_prompt_with_arguments" => {
            json!([text(format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))])
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({ "uri": argument("resourceUri"), "mimeType": "text/plain", "text": "Embedded." });
            let embedded = json!({ "role": "user", "content": { "type": "resource", "resource": resource } });
            json!([embedded, text("Please process the embedded resource above.".into())])
        }
        "test_prompt_with_image" => {
            let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
            json!([{ "role": "user", "content": image }, text("Please analyze the image above.".into())])
        }
        "test_input_required_result_prompt" => {
            let asked = json!({ "user_context": form("What context should the prompt use?", "context", "string") });
            match request.ask(requests(asked), || None).await? {
                InputOutcome::Later(reply) => return Ok(reply),
                InputOutcome::Answered(answers) => json!([text(answers["user_context"]["content"].to_string())]),
            }
        }
        _unknown => return Err(McpFault::invalid_params("there is no such prompt")),
    };
    Ok(complete(json!({ "messages": messages })))
}
