//! `session.model.*`: the root's model.

use protocol::api::{Method, ModelParams};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::{optional_text, required_text};
use super::provider::ListedModel;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::model_names::{client_model_name, full_model_name};
use crate::effort::bosun_effort;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.model.getCurrent" => Ok(model_state(&current(session).await?)),
        "session.model.switchTo" => {
            let model = full_model_name(&current(session).await?.model, required_text(&params, "modelId")?);
            let state = switch(session, model, &params).await?;
            Ok(json!({ "modelId": state["modelId"], "status": "applied", "modelState": state }))
        }
        "session.model.setReasoningEffort" => {
            let effort = required_text(&params, "reasoningEffort")?;
            let ModelParams { model, .. } = current(session).await?;
            switch(session, model, &params).await?;
            Ok(json!({ "reasoningEffort": effort }))
        }
        "session.model.list" => {
            let current = current(session).await?.model;
            let (chosen, others): (Vec<_>, Vec<_>) =
                client_models(session).into_iter().partition(|model| model.id == current);
            let first = match chosen.first() {
                Some(model) => listed_model_view(model),
                None => model_view(client_model_name(&current)),
            };
            let list: Vec<Value> = [first].into_iter().chain(others.iter().map(listed_model_view)).collect();
            Ok(json!({ "list": list }))
        }
        other => Err(unhandled(other)),
    }
}

/// Switches to a model, with the reasoning effort in the parameters; returns what clients see of it.
pub(crate) async fn switch(session: &HostedSession, model: String, params: &Value) -> Result<Value, ErrorObject> {
    let effort = match optional_text(params, "reasoningEffort") {
        None | Some("none") => None,
        Some(name) => Some(bosun_effort(name).ok_or_else(|| {
            ErrorObject::bad_params(format!("unknown reasoning effort `{name}`; use low, medium, high or xhigh"))
        })?),
    };
    let _done: Value = session.call(Method::ModelSet, ModelParams { model, effort }).await?;
    Ok(model_state(&current(session).await?))
}

/// The models that clients list for their providers.
fn client_models(session: &HostedSession) -> Vec<ListedModel> {
    let first = session.providers().map(|providers| providers.models.clone()).unwrap_or_default();
    first.into_iter().chain(session.features.added_models()).collect()
}

pub(crate) async fn current(session: &HostedSession) -> Result<ModelParams, ErrorObject> {
    session.call(Method::ModelGet, json!({})).await
}

fn model_state(ModelParams { model, effort }: &ModelParams) -> Value {
    let mut state = json!({ "modelId": client_model_name(model) });
    if let Some(effort) = effort {
        state["reasoningEffort"] = effort.as_str().into();
    }
    state
}

/// The context size reported to clients, which only display it.
pub(crate) const REPORTED_CONTEXT_TOKENS: u64 = 128_000;

/// A model that a client lists, in the SDK's format.
pub(crate) fn listed_model_view(model: &ListedModel) -> Value {
    let mut view = model_view(&model.id);
    if let Some(title) = &model.title {
        view["name"] = title.as_str().into();
    }
    view
}

/// A model in the SDK's format.
pub(crate) fn model_view(model: &str) -> Value {
    let supports = json!({ "vision": true, "reasoningEffort": true });
    let limits = json!({ "max_context_window_tokens": REPORTED_CONTEXT_TOKENS });
    json!({ "id": model, "name": model, "capabilities": { "supports": supports, "limits": limits } })
}
