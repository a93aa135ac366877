//! The OpenAPI document. It is generated from the route table and its types by `cargo xtask schema`; a test compares the
//! file with the table.

use protocol::api::{Method, StatusView};
use protocol::{Envelope, ListAddress};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::problem::HttpProblem;
use super::route::{Route, RouteInput, RouteOutput};
use super::route_schemas::{self, AddSchema, RouteSchemas};
use super::routes::ROUTES;
use super::routes::schemas::route_schemas;

/// The OpenAPI document of the whole API.
pub const OPENAPI: &str = include_str!("../../../../schemas/openapi.json");

/// The route table, as Markdown.
pub fn routes_markdown() -> String {
    let row = |route: &Route| format!("| `{} {}` | {} |\n", route.verb, route.path, route.about);
    let rows: String = ROUTES.iter().map(row).collect();
    format!("| request | what it does |\n|---|---|\n{rows}")
}

/// Generates the OpenAPI document.
pub fn generate_openapi() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for (route, schemas) in ROUTES.iter().zip(route_schemas()) {
        let operation = operation(route, &schemas, &mut generator);
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

fn operation(route: &Route, schemas: &RouteSchemas, generator: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = route.param_names().map(path_parameter).collect();
    let mut operation = json!({ "operationId": route.name, "summary": route.about });
    if route.act.method().is_some_and(Method::is_experimental) {
        operation["summary"] = format!("Experimental: {}", uncapitalised(route.about)).into();
        operation["x-experimental"] = true.into();
    }
    match &schemas.takes {
        route_schemas::RouteInput::Nothing => {}
        route_schemas::RouteInput::Query(schema) => parameters.extend(query_parameters(*schema)),
        route_schemas::RouteInput::Body(schema) => {
            operation["requestBody"] = request_body(&route.takes, schema(generator));
        }
    }
    let mut responses = Map::new();
    let (status, response) = response(route, &schemas.gives, generator);
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
fn query_parameters(schema: AddSchema) -> Vec<Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = schema(&mut settings.into_generator()).to_value();
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

fn request_body(takes: &RouteInput, schema: Schema) -> Value {
    // An empty body counts as an empty object.
    let required = matches!(takes, RouteInput::Body(read) if read(b"").is_err());
    json!({ "required": required, "content": { "application/json": { "schema": schema } } })
}

fn response(route: &Route, gives: &route_schemas::RouteOutput, generator: &mut SchemaGenerator) -> (String, Value) {
    match gives {
        route_schemas::RouteOutput::Json(schema) => {
            let content = json!({ "application/json": { "schema": schema(generator) } });
            (route.gives.status().as_str().into(), json!({ "description": "Done.", "content": content }))
        }
        route_schemas::RouteOutput::Nothing => {
            (route.gives.status().as_str().into(), json!({ "description": "Done." }))
        }
        route_schemas::RouteOutput::Events => {
            let (event, status) = (generator.subschema_for::<Envelope>(), generator.subschema_for::<StatusView>());
            let about = "Server-sent events: `event` with an id, `text`, `status`, and `end` when the stream is over.";
            let schema = json!({
                "type": "string",
                "description": "The data of `event` is an Envelope and that of `status` a StatusView.",
                "x-event": event,
                "x-status": status,
            });
            (
                route.gives.status().as_str().into(),
                json!({ "description": about, "content": { "text/event-stream": { "schema": schema } } }),
            )
        }
    }
}
