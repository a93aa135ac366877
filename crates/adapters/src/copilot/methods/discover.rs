//! Models, agents and tools, independent of any session.

use std::path::Path;

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::agent::{PromptVisibility, agent_view};
use super::{model, unhandled};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::model_names::client_model_name;

pub(crate) fn call(connection: &CopilotConnection, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    match method {
        "models.list" => models(connection),
        "agents.discover" => agents(connection, params),
        "tools.list" => Ok(tools()),
        other => Err(unhandled(other)),
    }
}

fn models(connection: &CopilotConnection) -> Result<Value, ErrorObject> {
    let catalog = connection.server().sessions.opener().catalog(None).map_err(ErrorObject::internal)?;
    // The default model comes first, and each model once.
    let others = catalog.models.into_iter().filter(|model| catalog.default_model.as_ref() != Some(model));
    let all: Vec<Value> = catalog
        .default_model
        .iter()
        .cloned()
        .chain(others)
        .map(|name| model::model_view(client_model_name(&name)))
        .collect();
    Ok(json!({ "models": all }))
}

/// The agents of one folder: the first that the client names, or this process's folder.
fn agents(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let project = params["projectPaths"][0].as_str().map(Path::new);
    let catalog = connection.server().sessions.opener().catalog(project).map_err(ErrorObject::internal)?;
    let agents: Vec<Value> = catalog.agents.iter().map(|agent| agent_view(agent, PromptVisibility::Hidden)).collect();
    Ok(json!({ "agents": agents }))
}

fn tools() -> Value {
    let all = tools::builtin_tools()
        .into_iter()
        .chain([tools::ask_user()])
        .chain(tools::subagent_tools())
        .chain(tools::shared_list_tools())
        .chain(tools::mcp_resource_tools());
    let view = |tool: std::sync::Arc<dyn tools::Tool>| {
        let spec = tool.spec();
        json!({ "name": spec.name, "description": spec.description, "parameters": spec.schema })
    };
    json!({ "tools": all.map(view).collect::<Vec<_>>() })
}
