//! The tools of the fixtures.

use std::time::Duration;

use bosun_adapters::mcp::{
    InputOutcome, LogLevel, McpFault, McpReply, McpRequest, ProvidedCall, ProvidedTaskState, ProvidedTool,
    ProviderChange, TaskSupport, TaskWish, ToolEffect, ToolSuccess, tool_result,
};
use rpc::ErrorObject;
use serde_json::{Map, Value, json};

use super::fixture_provider::{FixtureProvider, PAUSE, PNG, complete, form, requests};

/// A sound of no length.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// How long a failing task takes.
const FAILURE_TIME: Duration = Duration::from_millis(200);

/// Tools without arguments that may not become tasks.
const PLAIN: [&str; 26] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_error_handling",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "greet",
];

/// Tools whose calls become tasks.
const TASKS: [(&str, TaskSupport); 6] = [
    ("slow_compute", TaskSupport::Optional),
    ("confirm_delete", TaskSupport::Optional),
    ("multi_input", TaskSupport::Optional),
    ("failing_job", TaskSupport::Required),
    ("protocol_error_job", TaskSupport::Optional),
    ("test_tool_with_task", TaskSupport::Required),
];

pub(super) fn all() -> Vec<ProvidedTool> {
    let plain = PLAIN.iter().map(|name| tool(name, TaskSupport::Forbidden, json!({ "type": "object" })));
    let tasks = TASKS.iter().map(|(name, support)| tool(name, *support, json!({ "type": "object" })));
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let with_header = json!({ "type": "object", "properties": { "region": region } });
    let special = [
        tool("test_header", TaskSupport::Forbidden, with_header),
        tool("json_schema_2020_12_tool", TaskSupport::Forbidden, rich_schema()),
    ];
    plain.chain(tasks).chain(special).collect()
}

fn tool(name: &'static str, tasks: TaskSupport, input_schema: Value) -> ProvidedTool {
    ProvidedTool {
        name,
        title: name,
        description: "A fixture.",
        input_schema,
        output_schema: None,
        effect: ToolEffect::Reads,
        tasks,
    }
}

fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

/// Calls a tool.
pub(super) async fn call(
    provider: &FixtureProvider,
    ProvidedCall { tool, arguments }: ProvidedCall,
    request: &McpRequest,
) -> Result<McpReply, McpFault> {
    let content = |content: Value| Ok(complete(json!({ "content": content })));
    match tool.as_str() {
        "test_simple_text" | "test_header" | "json_schema_2020_12_tool" => {
            Ok(McpReply::text("This is a simple text response for testing."))
        }
        "greet" => Ok(McpReply::text(format!("Hello, {}!", arguments["name"].as_str().unwrap_or_default()))),
        "test_image_content" => content(json!([{ "type": "image", "data": PNG, "mimeType": "image/png" }])),
        "test_audio_content" => content(json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }])),
        "test_embedded_resource" => content(json!([embedded("test://embedded-resource")])),
        "test_multiple_content_types" => content(json!([
            { "type": "text", "text": "Multiple content types test:" },
            { "type": "image", "data": PNG, "mimeType": "image/png" },
            embedded("test://mixed-content-resource"),
        ])),
        "test_tool_with_logging" | "test_logging_tool" => {
            for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                request.log(LogLevel::Info, text).await;
                tokio::time::sleep(PAUSE).await;
            }
            Ok(McpReply::text("logged"))
        }
        "test_error_handling" => Ok(McpReply::tool_error("This tool intentionally returns an error for testing")),
        "test_tool_with_progress" => {
            for progress in [0, 50, 100] {
                request.report_progress(progress, Some(100), "").await;
                tokio::time::sleep(PAUSE).await;
            }
            Ok(McpReply::text("done"))
        }
        "test_trigger_tool_change" => Ok(changed(provider, ProviderChange::Tools)),
        "test_trigger_prompt_change" => Ok(changed(provider, ProviderChange::Prompts)),
        "test_missing_capability" if request.client().has("sampling") => Ok(McpReply::text("sampled")),
        "test_missing_capability" => Err(McpFault::missing_capability(json!({ "sampling": {} }))),
        "slow_compute"
        | "confirm_delete"
        | "multi_input"
        | "failing_job"
        | "protocol_error_job"
        | "test_tool_with_task" => call_task(provider, &tool, &arguments, request).await,
        asking => ask(provider, asking, &arguments, request).await,
    }
}

fn embedded(uri: &str) -> Value {
    let text = "This is an embedded resource content.";
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": "text/plain", "text": text } })
}

fn changed(provider: &FixtureProvider, change: ProviderChange) -> McpReply {
    // Fails if nobody listens.
    provider.changes.send(change).ok();
    McpReply::text("changed")
}

/// Calls a tool that asks the client for something.
async fn ask(
    provider: &FixtureProvider,
    tool: &str,
    arguments: &Map<String, Value>,
    request: &McpRequest,
) -> Result<McpReply, McpFault> {
    let sampling = |text: &Value| {
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 100 } })
    };
    let roots = json!({ "method": "roots/list", "params": {} });
    let name = form("What is your name?", "name", "string");
    let known = provider.known_state(request)?;
    let asked = match tool {
        "test_sampling" => json!({ "answer": sampling(&arguments["prompt"]) }),
        "test_elicitation" => {
            let field = json!({ "type": "string", "description": "What the user says" });
            let properties = json!({ "username": field, "email": field });
            let schema = json!({ "type": "object", "properties": properties, "required": ["username", "email"] });
            let params = json!({ "message": arguments["message"], "requestedSchema": schema });
            json!({ "answer": { "method": "elicitation/create", "params": params } })
        }
        "test_elicitation_sep1034_defaults" => json!({ "answer": with_defaults() }),
        "test_elicitation_sep1330_enums" => json!({ "answer": with_choices() }),
        "test_streaming_elicitation" | "test_input_required_result_elicitation" => json!({ "user_name": name }),
        "test_input_required_result_sampling" => {
            json!({ "capital_question": sampling(&json!("What is the capital of France?")) })
        }
        "test_input_required_result_list_roots" => json!({ "client_roots": roots }),
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            json!({ "confirm": form("Please confirm", "ok", "boolean") })
        }
        "test_input_required_result_multiple_inputs" => {
            json!({ "user_name": name, "greeting": sampling(&json!("Generate a greeting")), "client_roots": roots })
        }
        "test_input_required_result_multi_round" if known.is_some_and(|state| state.starts_with("round")) => {
            json!({ "step2": form("Step 2: What is your favorite color?", "color", "string") })
        }
        "test_input_required_result_multi_round" => {
            return match request.ask(requests(json!({ "step1": name })), || Some(provider.new_state("begun"))).await? {
                InputOutcome::Later(reply) => Ok(reply),
                InputOutcome::Answered(_) => {
                    let requests = requests(json!({ "step2": form("Step 2: Which color?", "color", "string") }));
                    Ok(McpReply::InputRequired { requests, state: Some(provider.new_state("round")) })
                }
            };
        }
        "test_input_required_result_capabilities" => {
            let mut asked = json!({});
            if request.client().can_elicit() {
                asked["user_name"] = name;
            }
            if request.client().has("sampling") {
                asked["greeting"] = sampling(&json!("Generate a greeting"));
            }
            asked
        }
        _unknown => return Err(McpFault::invalid_params("there is no such tool")),
    };
    let needs_state = ["state", "multiple", "multi_round"].iter().any(|part| tool.contains(part));
    let state = || needs_state.then(|| provider.new_state("round"));
    match request.ask(requests(asked), state).await? {
        InputOutcome::Later(reply) => Ok(reply),
        InputOutcome::Answered(answers) => Ok(McpReply::text(format!("state-ok: {}", Value::Object(answers)))),
    }
}

fn with_defaults() -> Value {
    let properties = json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    });
    let schema = json!({ "type": "object", "properties": properties });
    json!({ "method": "elicitation/create", "params": { "message": "Check these", "requestedSchema": schema } })
}

fn with_choices() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = json!([
        { "const": "value1", "title": "First" },
        { "const": "value2", "title": "Second" },
        { "const": "value3", "title": "Third" },
    ]);
    let properties = json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    });
    let schema = json!({ "type": "object", "properties": properties });
    json!({ "method": "elicitation/create", "params": { "message": "Choose", "requestedSchema": schema } })
}

/// Calls a tool whose calls become tasks.
async fn call_task(
    provider: &FixtureProvider,
    tool: &str,
    arguments: &Map<String, Value>,
    request: &McpRequest,
) -> Result<McpReply, McpFault> {
    let done = |text: &str| tool_result(text.to_owned(), ToolSuccess::Succeeded);
    let seconds = arguments.get("seconds").and_then(Value::as_u64).unwrap_or(0);
    let task = match tool {
        "slow_compute" if request.task_wish() == TaskWish::Result => {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            return Ok(McpReply::text("computed"));
        }
        "slow_compute" => {
            let state = ProvidedTaskState::Completed(done("computed"));
            provider.tasks.start(Duration::from_secs(seconds), state)
        }
        "failing_job" => {
            let failed = tool_result("the job failed".into(), ToolSuccess::Failed);
            provider.tasks.start(FAILURE_TIME, ProvidedTaskState::Completed(failed))
        }
        "protocol_error_job" => {
            let state = ProvidedTaskState::Failed(ErrorObject::internal("the job broke"));
            provider.tasks.start(FAILURE_TIME, state)
        }
        "confirm_delete" => {
            let asked = json!({ "confirm": form("Delete it?", "confirm", "boolean") });
            provider.tasks.ask(requests(asked), done("deleted"))
        }
        "multi_input" => {
            let asked =
                json!({ "first": form("First?", "name", "string"), "second": form("Second?", "name", "string") });
            provider.tasks.ask(requests(asked), done("both"))
        }
        _with_input => {
            let asked = json!({ "user_name": form("What is your name?", "name", "string") });
            match request.ask(requests(asked), || Some(provider.new_state("begun"))).await? {
                InputOutcome::Later(reply) => return Ok(reply),
                InputOutcome::Answered(answers) => {
                    let name = answers["user_name"]["content"]["name"].as_str().unwrap_or_default();
                    let state = ProvidedTaskState::Completed(done(&format!("Hello, {name}!")));
                    provider.tasks.start(FAILURE_TIME, state)
                }
            }
        }
    };
    Ok(McpReply::Task(task))
}
