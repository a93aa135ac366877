//! The OpenAPI document, generated from the route table and its types.

use std::sync::LazyLock;

use protocol::api::StatusView;
use protocol::{Envelope, ListAddress};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::problem::HttpProblem;
use super::route::{InputSchema, Route, RouteAction, RouteInput, RouteOutput};
use super::routes::ROUTES;

/// The OpenAPI document of the whole API.
pub fn openapi() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(document);
    &DOCUMENT
}

/// The route table, as Markdown.
pub fn routes_markdown() -> String {
    let row = |route: &Route| format!("| `{} {}` | {} |\n", route.verb, route.path, route.about);
    let rows: String = ROUTES.iter().map(row).collect();
    format!("| request | what it does |\n|---|---|\n{rows}")
}

fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in ROUTES {
        let operation = operation(route, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.verb.as_str().to_ascii_lowercase()] = operation;
    }
    let problem = generator.subschema_for::<HttpProblem>();
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Bosun",
            "description": "Runs fleets of coding agents, checks their work, survives kill -9. Served on loopback by `bosun serve`.",
            "version": "1",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": {
                "Problem": {
                    "description": "Why the request failed, and what to do about it.",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
            "schemas": schemas,
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = route.param_names().map(path_parameter).collect();
    let mut operation = json!({ "operationId": route.name, "summary": route.about });
    if matches!(route.act, RouteAction::Call(method) if method.is_experimental()) {
        operation["summary"] = format!("Experimental: {}", uncapitalised(route.about)).into();
        operation["x-experimental"] = true.into();
    }
    match &route.takes {
        RouteInput::Nothing => {}
        RouteInput::Query(input_schema) => parameters.extend(query_parameters(input_schema)),
        RouteInput::Body(input_schema) => operation["requestBody"] = request_body(input_schema, generator),
    }
    let mut responses = Map::new();
    let (status, response) = response(&route.gives, generator);
    if matches!(route.gives, RouteOutput::Events) {
        let about = "The last sequence number that the client received.";
        let schema = json!({ "type": "string", "pattern": "^[0-9]{1,15}$" });
        parameters.push(json!({ "name": "Last-Event-ID", "in": "header", "description": about, "schema": schema }));
    }
    responses.insert(status, response);
    for status in ["4XX", "5XX"] {
        responses.insert(status.into(), json!({ "$ref": "#/components/responses/Problem" }));
    }
    operation["parameters"] = parameters.into();
    operation["responses"] = responses.into();
    operation
}

fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn path_parameter(name: &str) -> Value {
    let schema = match name {
        "session" => json!({ "type": "string", "pattern": "^ses-[0-9a-f]{32}$" }),
        "task" => json!({ "type": "string", "pattern": "^task-[0-9a-f]{32}$" }),
        "item" => json!({ "type": "string", "pattern": "^[0-9]{1,9}$" }),
        "list" => ListAddress::json_schema(&mut SchemaGenerator::default()).to_value(),
        _text => json!({ "type": "string", "minLength": 1 }),
    };
    json!({ "name": name, "in": "path", "required": true, "schema": schema })
}

/// One parameter for each field of a query.
fn query_parameters(input_schema: &InputSchema) -> Vec<Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = (input_schema.schema)(&mut settings.into_generator()).to_value();
    let Some(fields) = schema["properties"].as_object() else { return Vec::new() };
    let is_required = |name: &String| schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = without_null(schema);
        let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        json!({ "name": name, "in": "query", "description": about, "required": is_required(name), "schema": schema })
    };
    fields.iter().map(parameter).collect()
}

/// Removes `null` from a schema: a query parameter is either present or absent.
fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let Some(fields) = schema.as_object_mut() else { return schema };
    fields.remove("default");
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
    }
    schema
}

fn request_body(input_schema: &InputSchema, generator: &mut SchemaGenerator) -> Value {
    let schema = (input_schema.schema)(generator);
    // An empty body counts as an empty object.
    let required = (input_schema.read)(b"").is_err();
    json!({ "required": required, "content": { "application/json": { "schema": schema } } })
}

fn response(gives: &RouteOutput, generator: &mut SchemaGenerator) -> (String, Value) {
    match gives {
        RouteOutput::Json(status, schema) => {
            let schema: Schema = schema(generator);
            let content = json!({ "application/json": { "schema": schema } });
            (status.as_str().into(), json!({ "description": "Done.", "content": content }))
        }
        RouteOutput::Nothing => ("204".into(), json!({ "description": "Done." })),
        RouteOutput::Events => {
            let (event, status) = (generator.subschema_for::<Envelope>(), generator.subschema_for::<StatusView>());
            let about = "Server-sent events: `event` with an id, `text`, `status`, and `end` when the stream is over.";
            let schema = json!({
                "type": "string",
                "description": "The data of `event` is an Envelope and that of `status` a StatusView.",
                "x-event": event,
                "x-status": status,
            });
            ("200".into(), json!({ "description": about, "content": { "text/event-stream": { "schema": schema } } }))
        }
    }
}
