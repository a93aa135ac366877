//! What there is before any session: models, agents and tools.

use std::path::Path;

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::agent::{PromptVisibility, agent_view};
use super::{model, unhandled};
use crate::copilot::connection::CopilotConnection;

pub(crate) fn call(visit: &CopilotConnection, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    match method {
        "models.list" => models(visit),
        "agents.discover" => agents(visit, params),
        "tools.list" => Ok(tools()),
        other => Err(unhandled(other)),
    }
}

fn models(visit: &CopilotConnection) -> Result<Value, ErrorObject> {
    let staff = visit.server().host.catalog(None).map_err(ErrorObject::internal)?;
    // The one that is asked by default comes first, and every one once.
    let others = staff.models.into_iter().filter(|model| staff.model.as_ref() != Some(model));
    let all: Vec<Value> = staff.model.iter().cloned().chain(others).map(|name| model::model_view(&name)).collect();
    Ok(json!({ "models": all }))
}

/// The agents of one folder: the first that the client names, or that of this process.
fn agents(visit: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let project = params["projectPaths"][0].as_str().map(Path::new);
    let staff = visit.server().host.catalog(project).map_err(ErrorObject::internal)?;
    let agents: Vec<Value> = staff.agents.iter().map(|agent| agent_view(agent, PromptVisibility::Hidden)).collect();
    Ok(json!({ "agents": agents }))
}

fn tools() -> Value {
    let all = tools::builtin_tools()
        .into_iter()
        .chain([tools::ask_user()])
        .chain(tools::subagent_tools())
        .chain(tools::shared_list_tools());
    let described = |tool: std::sync::Arc<dyn tools::Tool>| {
        let spec = tool.spec();
        json!({ "name": spec.name, "description": spec.about, "parameters": spec.schema })
    };
    json!({ "tools": all.map(described).collect::<Vec<_>>() })
}
