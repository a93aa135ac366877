//! The methods that clients call, in groups.

mod agent;
mod answers;
mod attachments;
mod commands;
mod context;
mod discover;
mod event_log;
pub(crate) mod fields;
mod fleet;
pub(crate) mod history;
mod lifecycle;
mod local_only;
pub(crate) mod mcp;
mod messages;
mod metadata;
mod mode;
pub(crate) mod model;
mod names;
mod objective;
mod options;
mod plan;
pub(crate) mod provider;
mod provider_methods;
mod queue;
mod server;
mod skills;
pub(super) mod tasks;
mod tools;
pub(crate) mod workspaces;

use std::sync::Arc;

use rpc::ErrorObject;
use serde_json::Value;

use super::connection::CopilotConnection;

/// The error code for calls before the client has sent its token.
const UNAUTHENTICATED: i64 = -32001;

/// Answers one call.
pub(crate) async fn call(
    connection: &Arc<CopilotConnection>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    if !connection.is_admitted() && method != "connect" {
        return Err(ErrorObject::new(UNAUTHENTICATED, "AUTHENTICATION_REQUIRED"));
    }
    route(connection, method, params).await.map_err(|error| to_sdk_error(method, error))
}

async fn route(connection: &Arc<CopilotConnection>, method: &str, params: Value) -> Result<Value, ErrorObject> {
    if server::serves(method) {
        return server::call(connection, method, params).await;
    }
    let session = || connection.session(&params);
    match method.rsplit_once('.').map_or("", |(group, _)| group) {
        "session" => messages::call(connection, &*session()?, method, params).await,
        "session.metadata" if context::METHODS.contains(&method) => {
            context::call(connection, &*session()?, method, params).await
        }
        "session.metadata" | "session.usage" => metadata::call(connection, &*session()?, method, params).await,
        "session.completions" | "session.visibility" | "session.lsp" => {
            local_only::call(connection, &*session()?, method, params).await
        }
        "session.eventLog" => event_log::call(connection, &*session()?, method, params).await,
        "session.history" => history::call(connection, &*session()?, method, params).await,
        "session.instructions" => context::call(connection, &*session()?, method, params).await,
        "session.name" => names::call(connection, &*session()?, method, params).await,
        "session.options" => options::call(connection, &*session()?, method, params).await,
        "session.provider" => provider_methods::call(connection, &*session()?, method, params).await,
        "session.queue" => queue::call(connection, &*session()?, method, params).await,
        "session.tools" if tools::METHODS.contains(&method) => {
            tools::call(connection, &*session()?, method, params).await
        }
        "session.tools" | "session.permissions" | "session.ui" => {
            answers::call(connection, &*session()?, method, params).await
        }
        "session.agent" => agent::call(connection, &*session()?, method, params).await,
        "session.commands" => commands::call(connection, &*session()?, method, params).await,
        "session.fleet" => fleet::call(connection, &*session()?, method, params).await,
        "session.mcp" => mcp::call(connection, &*session()?, method, params).await,
        "session.mode" => mode::call(connection, &*session()?, method, params).await,
        "session.model" => model::call(connection, &*session()?, method, params).await,
        "session.plan" => plan::call(connection, &*session()?, method, params).await,
        "session.autopilotObjective" => objective::call(connection, &*session()?, method, params).await,
        "session.skills" => skills::call(connection, &*session()?, method, params).await,
        "session.workspaces" => workspaces::call(connection, &*session()?, method, params).await,
        "session.tasks" => tasks::call(connection, &*session()?, method, params).await,
        _other => Err(unhandled(method)),
    }
}

/// The error for a method that is not served.
pub(crate) fn unhandled(method: &str) -> ErrorObject {
    ErrorObject::new(ErrorObject::UNKNOWN_METHOD, format!("Unhandled method {method}"))
}

/// An error in the format that SDKs expect: codes of JSON-RPC and the adapter stay, all others become `INTERNAL`.
fn to_sdk_error(method: &str, error: ErrorObject) -> ErrorObject {
    match error.code {
        ErrorObject::UNKNOWN_METHOD | ErrorObject::BAD_PARAMS | -32002 | UNAUTHENTICATED => error,
        _other => ErrorObject {
            code: ErrorObject::INTERNAL,
            message: format!("Request {method} failed with message: {}", error.in_one_line()),
            data: error.data,
        },
    }
}
