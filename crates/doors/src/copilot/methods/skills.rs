//! `session.skills.*`: the skills that a person may name.

use protocol::api::{Method, SlashKind, SlashList, SlashView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::held::Held;
use crate::copilot::visit::Visit;

pub(crate) async fn call(_visit: &Visit, session: &Held, method: &str, _params: Value) -> Result<Value, ErrorObject> {
    match method {
        "session.skills.list" => {
            let SlashList { commands } = session.call(Method::CommandsList, json!({})).await?;
            let skills = commands.iter().filter(|command| command.kind == SlashKind::Skill);
            Ok(json!({ "skills": skills.map(described).collect::<Vec<_>>() }))
        }
        other => Err(unhandled(other)),
    }
}

fn described(skill: &SlashView) -> Value {
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
