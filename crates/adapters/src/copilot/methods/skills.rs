//! `session.skills.*`: the skills that a user can invoke.

use protocol::api::{Method, SlashKind, SlashList, SlashView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    _params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.skills.list" => {
            let SlashList { commands } = session.call(Method::CommandsList, json!({})).await?;
            let skills = commands.iter().filter(|command| command.kind == SlashKind::Skill);
            Ok(json!({ "skills": skills.map(skill_view).collect::<Vec<_>>() }))
        }
        other => Err(unhandled(other)),
    }
}

fn skill_view(skill: &SlashView) -> Value {
    let mut view = json!({
        "name": skill.name,
        "commandName": skill.name,
        "description": skill.description,
        "source": "custom",
        "userInvocable": true,
        "enabled": true,
    });
    if skill.source.starts_with('/') {
        view["path"] = skill.source.as_str().into();
    }
    if let Some(hint) = &skill.hint {
        view["argumentHint"] = hint.as_str().into();
    }
    view
}
