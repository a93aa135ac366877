//! `session.tools.*`: the tools of the session, as its model sees them.

use protocol::api::{ContextTool, ContextView, Method};
use rpc::ErrorObject;
use runtime::AgentOverride;
use serde_json::{Map, Value, json};

use super::{model, unhandled};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::{ClientNotice, HostedSession};
use crate::copilot::model_names::full_model_name;
use crate::effort::bosun_effort;

/// The methods that are answered here.
pub(crate) const METHODS: [&str; 3] =
    ["session.tools.getCurrentMetadata", "session.tools.initializeAndValidate", "session.tools.updateSubagentSettings"];

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    if method == "session.tools.updateSubagentSettings" {
        return update_agents(session, &params["subagents"]).await;
    }
    let view: ContextView = session.call(Method::ContextGet, json!({})).await?;
    match method {
        "session.tools.getCurrentMetadata" => {
            Ok(json!({ "tools": view.tools.iter().map(tool_metadata).collect::<Vec<_>>() }))
        }
        // The tools of a session exist from its start, and describing them has checked them.
        "session.tools.initializeAndValidate" => Ok(json!({})),
        other => Err(unhandled(other)),
    }
}

/// Replaces what clients decided about agents; `null` clears it. Clients are told which settings have no effect.
async fn update_agents(session: &HostedSession, settings: &Value) -> Result<Value, ErrorObject> {
    if !session.is_local() {
        return Err(ErrorObject::internal("another process runs the session, which decides about its agents itself"));
    }
    let mut overrides = Vec::new();
    let current = model::current(session).await?.model;
    for (name, entry) in settings["agents"].as_object().into_iter().flatten() {
        overrides.push((name.clone(), agent_override(&current, name, entry)?));
    }
    let disabled = settings["disabledSubagents"].as_array().into_iter().flatten();
    let disabled = disabled.filter_map(Value::as_str).map(str::to_owned);
    session.tool_calls.agent_overrides.replace(overrides, disabled);
    let is_ignored = |name: &&String| !["agents", "disabledSubagents"].contains(&name.as_str());
    let ignored: Vec<&str> =
        settings.as_object().into_iter().flat_map(Map::keys).filter(is_ignored).map(String::as_str).collect();
    if !ignored.is_empty() {
        let message = format!("these settings of subagents have no effect: {}", ignored.join(", "));
        session.add_notices([ClientNotice::unsupported(message)]);
    }
    Ok(json!({}))
}

fn agent_override(current: &str, name: &str, entry: &Value) -> Result<AgentOverride, ErrorObject> {
    let effort = match entry["effortLevel"].as_str() {
        None | Some("inherit" | "none") => None,
        Some(effort) => Some(bosun_effort(effort).ok_or_else(|| {
            ErrorObject::bad_params(format!("unknown effort `{effort}` of {name}; use low, medium, high or xhigh"))
        })?),
    };
    let model = entry["model"].as_str().filter(|model| !model.is_empty() && *model != "inherit");
    Ok(AgentOverride { model: model.map(|model| full_model_name(current, model)), effort })
}

fn tool_metadata(tool: &ContextTool) -> Value {
    let ContextTool { name, description, schema, tokens: _ } = tool;
    let mut metadata = json!({ "name": name, "description": description, "input_schema": schema });
    if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
        metadata["mcpServerName"] = server.into();
        metadata["mcpToolName"] = tool.into();
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_servers_name_their_server() {
        let tool = |name: &str| ContextTool {
            name: name.into(),
            description: "does it".into(),
            schema: json!({ "type": "object" }),
            tokens: 1,
        };
        let metadata = tool_metadata(&tool("mcp__db__query"));
        assert_eq!((&metadata["mcpServerName"], &metadata["mcpToolName"]), (&json!("db"), &json!("query")));
        assert!(tool_metadata(&tool("bash"))["mcpServerName"].is_null());
    }
}
