//! The methods that clients call, in groups.

mod absent;
mod agent;
mod answers;
mod attachments;
mod canvas;
mod client_files;
mod commands;
mod context;
mod discover;
mod event_log;
pub(crate) mod fields;
mod fleet;
pub(crate) mod history;
mod inference;
mod lifecycle;
mod local_only;
pub(crate) mod mcp;
pub(crate) mod mcp_config;
mod mcp_host;
mod messages;
mod metadata;
mod mode;
pub(crate) mod model;
mod names;
mod objective;
mod options;
mod permissions;
mod plan;
mod plugins;
pub(crate) mod provider;
mod provider_methods;
mod queue;
mod request_headers;
mod secrets;
mod server;
mod sessions;
mod shell;
mod signed_out;
pub(crate) mod skill_discovery;
mod skills;
pub(super) mod tasks;
mod tools;
mod ui;
pub(crate) mod user_settings;
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
    if signed_out::REMOTE_CONTROL.contains(&method) {
        return signed_out::call(connection.server().sessions.opener(), method, &params).await;
    }
    let session = || connection.session(&params);
    if matches!(method, "session.send" | "session.sendAndWait" | "session.mcp.list") {
        mcp::connect_plugin_servers(&session()?);
    }
    match method.rsplit_once('.').map_or("", |(group, _)| group) {
        "session" => messages::call(connection, &*session()?, method, params).await,
        "session.metadata" if context::METHODS.contains(&method) => {
            context::call(connection, &*session()?, method, params).await
        }
        "session.metadata" | "session.usage" => metadata::call(connection, &*session()?, method, params).await,
        "session.completions" | "session.visibility" | "session.lsp" | "session.telemetry" => {
            local_only::call(connection, &*session()?, method, params).await
        }
        "session.eventLog" => event_log::call(connection, &session()?, method, params).await,
        "session.history" => history::call(connection, &*session()?, method, params).await,
        "session.instructions" => context::call(connection, &*session()?, method, params).await,
        "session.name" => names::call(connection, &*session()?, method, params).await,
        "session.options" => options::call(connection, &*session()?, method, params).await,
        "session.provider" => provider_methods::call(connection, &*session()?, method, params).await,
        "session.queue" => queue::call(connection, &*session()?, method, params).await,
        "session.tools" if tools::METHODS.contains(&method) => {
            tools::call(connection, &*session()?, method, params).await
        }
        "account" | "agentRegistry" => signed_out::call(connection.server().sessions.opener(), method, &params).await,
        "llmInference" => inference::call(connection, method, &params).await,
        "mcp.config" => mcp_config::call(connection, method, &params),
        "plugins" | "plugins.builtin" | "plugins.marketplaces" => plugins::call(connection, method, params).await,
        "secrets" => secrets::call(connection, method, &params),
        "sessions" => sessions::call(connection, method, params).await,
        "user.settings" => user_settings::call(connection, method, &params).await,
        "session.tools" => answers::call(connection, &*session()?, method, params).await,
        "session.extensions" | "session.schedule" => {
            session()?;
            absent::session_call(method, &params)
        }
        "session.canvas" | "session.canvas.action" => canvas::call(&*session()?, method, &params).await,
        "session.gitHubAuth" | "session.remote" => signed_out::session_call(&*session()?, method, &params).await,
        "session.permissions"
        | "session.permissions.paths"
        | "session.permissions.locations"
        | "session.permissions.folderTrust"
        | "session.permissions.urls" => permissions::call(connection, &*session()?, method, params).await,
        "session.plugins" => plugins::session_call(connection, &*session()?, method).await,
        "session.ui" => ui::call(connection, &*session()?, method, params).await,
        "session.agent" => agent::call(connection, &*session()?, method, params).await,
        "session.commands" => commands::call(connection, &session()?, method, params).await,
        "session.fleet" => fleet::call(connection, &*session()?, method, params).await,
        "session.mcp" | "session.mcp.apps" | "session.mcp.headers" | "session.mcp.oauth" => {
            mcp_host::call(connection, &*session()?, method, params).await
        }
        "session.mode" => mode::call(connection, &*session()?, method, params).await,
        "session.model" => model::call(connection, &*session()?, method, params).await,
        "session.plan" => plan::call(connection, &*session()?, method, params).await,
        "session.autopilotObjective" => objective::call(connection, &*session()?, method, params).await,
        "session.shell" => shell::call(connection, &session()?, method, params).await,
        "skills" | "skills.config" | "agents" => skill_discovery::call(connection, method, &params).await,
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
