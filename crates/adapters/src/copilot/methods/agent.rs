//! `session.agent.*`: the available agents, and the one selected as root.

use protocol::api::{AgentResult, AgentView, AgentsResult, Method, SelectAgentParams};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

/// The source of built-in definitions.
const BUILT_IN: &str = "built in";

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.agent.list" => list(session, &params).await,
        "session.agent.reload" => list(session, &json!({})).await,
        "session.agent.getCurrent" => {
            let AgentResult { agent } = session.call(Method::AgentGet, json!({})).await?;
            Ok(json!({ "agent": agent.as_ref().map(|agent| titled_view(session, agent, PromptVisibility::Shown)) }))
        }
        "session.agent.select" => {
            let selection = SelectAgentParams { agent: Some(required_text(&params, "name")?.to_owned()) };
            let AgentResult { agent } = session.call(Method::AgentSelect, selection).await?;
            Ok(json!({ "agent": agent.as_ref().map(|agent| titled_view(session, agent, PromptVisibility::Shown)) }))
        }
        "session.agent.deselect" => {
            let _default: AgentResult = session.call(Method::AgentSelect, SelectAgentParams::default()).await?;
            Ok(Value::Null)
        }
        other => Err(unhandled(other)),
    }
}

async fn list(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let AgentsResult { agents } = session.call(Method::AgentsList, json!({})).await?;
    let prompts = if params["includePrompt"] == true { PromptVisibility::Shown } else { PromptVisibility::Hidden };
    let is_included = |agent: &&AgentView| agent.source != BUILT_IN || params["includeBuiltInAgents"] == true;
    let mut agents: Vec<&AgentView> = agents.iter().filter(is_included).collect();
    agents.sort_by_key(|agent| session.agent_place(&agent.name));
    let agents: Vec<Value> = agents.into_iter().map(|agent| titled_view(session, agent, prompts)).collect();
    Ok(json!({ "agents": agents }))
}

/// An agent in the SDK's format, with the display name that its client chose.
fn titled_view(session: &HostedSession, agent: &AgentView, prompts: PromptVisibility) -> Value {
    let mut view = agent_view(agent, prompts);
    if let Some(title) = session.agent_title(&agent.name) {
        view["displayName"] = title.into();
    }
    view
}

/// Whether the prompts of agents are included.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptVisibility {
    Shown,
    Hidden,
}

/// An agent in the SDK's format.
pub(crate) fn agent_view(agent: &AgentView, prompts: PromptVisibility) -> Value {
    let AgentView { name, description, prompt, source, tools, models } = agent;
    let mut view = json!({
        "id": name,
        "name": name,
        "displayName": name,
        "description": description,
        "userInvocable": true,
    });
    if source == BUILT_IN {
        view["source"] = "builtin".into();
    } else if source.starts_with('/') {
        view["path"] = source.as_str().into();
    }
    if let Some(tools) = tools {
        view["tools"] = json!(tools);
    }
    if let Some(first) = models.first() {
        (view["model"], view["models"]) = (first.as_str().into(), json!(models));
    }
    if prompts == PromptVisibility::Shown {
        view["prompt"] = prompt.as_str().into();
    }
    view
}
