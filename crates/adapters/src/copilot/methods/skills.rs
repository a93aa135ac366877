//! `session.skills.*`: the skills of a session.

use protocol::api::{Method, Nothing, ReloadSkillsResult, SkillView, SkillsResult, ToggleSkillParams};
use protocol::{DefinitionSource, SkillSpec, tool_name};
use rpc::ErrorObject;
use runtime::read_skill;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::history;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.skills.list" => {
            let skills = skills(session).await?;
            Ok(json!({ "skills": skills.iter().map(skill_json).collect::<Vec<_>>() }))
        }
        "session.skills.getInvoked" => Ok(json!({ "skills": invoked(session).await? })),
        "session.skills.enable" => toggle(session, &params, true).await,
        "session.skills.disable" => toggle(session, &params, false).await,
        "session.skills.reload" => {
            let ReloadSkillsResult { errors, warnings } = session.call(Method::SkillsReload, Nothing {}).await?;
            session.emit("session.skills_loaded", json!({ "skills": skill_list(session).await? }));
            Ok(json!({ "errors": errors, "warnings": warnings }))
        }
        // The skills of a session are read when it is opened.
        "session.skills.ensureLoaded" => Ok(Value::Null),
        other => Err(unhandled(other)),
    }
}

async fn skills(session: &HostedSession) -> Result<Vec<SkillView>, ErrorObject> {
    let SkillsResult { skills } = session.call(Method::SkillsList, Nothing {}).await?;
    Ok(skills)
}

async fn skill_list(session: &HostedSession) -> Result<Vec<Value>, ErrorObject> {
    Ok(skills(session).await?.iter().map(skill_json).collect())
}

async fn toggle(session: &HostedSession, params: &Value, enabled: bool) -> Result<Value, ErrorObject> {
    let name = required_text(params, "name")?.to_owned();
    let _done: Nothing = session.call(Method::SkillsToggle, ToggleSkillParams { name, enabled }).await?;
    session.emit("session.skills_loaded", json!({ "skills": skill_list(session).await? }));
    Ok(Value::Null)
}

/// The skills that agents have loaded, in the order in which they did.
async fn invoked(session: &HostedSession) -> Result<Vec<Value>, ErrorObject> {
    let events = history::recorded_events(session.home(), session.id()).await?;
    let known = skills(session).await?;
    let loads = events
        .iter()
        .filter(|event| event["type"] == "tool.execution_start" && event["data"]["toolName"] == tool_name::SKILL);
    let mut invoked: Vec<Value> = Vec::new();
    for load in loads {
        let name = load["data"]["arguments"]["skill"].as_str().unwrap_or_default();
        let Some(skill) = known.iter().find(|skill| skill.name == name) else { continue };
        let Some(content) = content_of(skill).await else { continue };
        let turn = load["data"]["turnId"].as_str().and_then(|turn| turn.parse::<u64>().ok()).unwrap_or_default();
        invoked.retain(|earlier| earlier["name"] != name);
        invoked.push(json!({
            "name": name,
            "path": skill.file,
            "content": content,
            "allowedTools": skill.allowed_tools,
            "invokedAtTurn": turn,
        }));
    }
    Ok(invoked)
}

/// The content of a skill's file; none if it cannot be read any more.
async fn content_of(skill: &SkillView) -> Option<String> {
    let spec = SkillSpec { file: skill.file.clone(), source: skill.source.clone(), ..SkillSpec::default() };
    let reading = tokio::task::spawn_blocking(move || read_skill(&spec)).await;
    reading.ok()?.inspect_err(|error| tracing::debug!(%error, "a skill that was loaded cannot be read")).ok()
}

/// A skill in the SDK's format.
pub(super) fn skill_json(skill: &SkillView) -> Value {
    let mut view = json!({
        "name": skill.name,
        "commandName": skill.name,
        "description": skill.description,
        "source": source(&skill.source),
        "userInvocable": skill.user_invocable,
        "enabled": skill.enabled,
        "path": skill.file,
    });
    if let DefinitionSource::Plugin { plugin, .. } = &skill.source {
        view["pluginName"] = plugin.as_str().into();
    }
    view
}

/// Where a skill comes from, in the SDK's terms.
pub(super) fn source(source: &DefinitionSource) -> &'static str {
    match source {
        DefinitionSource::Project { .. } => "project",
        DefinitionSource::Plugin { .. } => "plugin",
        DefinitionSource::User { path } if path.contains("/.agents/skills/") => "personal-agents",
        DefinitionSource::User { path } if path.contains("/.copilot/skills/") => "personal-copilot",
        DefinitionSource::User { .. } | DefinitionSource::Flag | DefinitionSource::Remote { .. } => "custom",
        DefinitionSource::BuiltIn => "builtin",
    }
}
