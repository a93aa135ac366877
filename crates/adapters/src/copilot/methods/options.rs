//! `session.options.update`: options that change while the session is open.

use protocol::api::ModelParams;
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::model;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::{ClientNotice, HostedSession};
use crate::copilot::model_names::full_model_name;

/// Options without an effect in Bosun, which does what they ask for in any case.
const ALWAYS_TRUE_HERE: [(&str, bool); 4] = [
    ("customAgentsLocalOnly", true),
    ("coauthorEnabled", false),
    ("manageScheduleEnabled", false),
    ("enableSessionStore", false),
];

/// Options that only identify the client or the session.
const LABELS: [&str; 4] = ["sessionId", "clientName", "lspClientName", "integrationId"];

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.options.update" => update(session, &params).await,
        other => Err(unhandled(other)),
    }
}

/// Applies the model and its effort. Clients are told which other options have no effect.
async fn update(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    if !params["model"].is_null() || !params["reasoningEffort"].is_null() {
        let ModelParams { model: current, .. } = model::current(session).await?;
        let wanted = params["model"].as_str().map(|model| full_model_name(&current, model));
        model::switch(session, wanted.unwrap_or(current), params).await?;
    }
    let ignored = ignored_options(params);
    if !ignored.is_empty() {
        let message = format!("these options cannot change while the session is open: {}", ignored.join(", "));
        session.add_notices([ClientNotice::unsupported(message)]);
    }
    Ok(json!({ "success": true }))
}

/// The names of the options that have no effect.
fn ignored_options(params: &Value) -> Vec<&str> {
    let is_ignored = |(name, value): &(&String, &Value)| {
        let is_known = ["model", "reasoningEffort"].contains(&name.as_str()) || LABELS.contains(&name.as_str());
        let is_true_here = ALWAYS_TRUE_HERE.iter().any(|(known, here)| known == name && **value == *here);
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        !is_known && !is_true_here && !is_empty
    };
    params.as_object().into_iter().flatten().filter(is_ignored).map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_an_effect_are_named() {
        let params = json!({
            "sessionId": "s", "clientName": "c", "model": "m", "coauthorEnabled": false, "installedPlugins": [],
            "workingDirectory": "/w", "coauthorDisabled": null, "skipCustomInstructions": true,
        });
        assert_eq!(ignored_options(&params), ["skipCustomInstructions", "workingDirectory"]);
    }
}
