//! `session.model.*`: the root's model.

use protocol::api::{Method, ModelParams};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;
use model::ClientProvider;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.model.getCurrent" => Ok(json!({ "modelId": current(session).await? })),
        "session.model.switchTo" => {
            let model = resolve_model(&current(session).await?, required_text(&params, "modelId")?);
            let _done: Value = session.call(Method::ModelSet, ModelParams { model }).await?;
            let model = current(session).await?;
            Ok(json!({ "modelId": model, "status": "applied", "modelState": { "modelId": model } }))
        }
        "session.model.list" => {
            let model = current(session).await?;
            Ok(json!({ "list": [model_view(&model)] }))
        }
        other => Err(unhandled(other)),
    }
}

async fn current(session: &HostedSession) -> Result<String, ErrorObject> {
    let ModelParams { model } = session.call(Method::ModelGet, json!({})).await?;
    Ok(model)
}

/// The full name of the model that a client requests. If the session uses the client's own provider, a name without `/`
/// is one of that provider's models.
fn resolve_model(current: &str, requested: &str) -> String {
    let (prefix, is_full_name) = (format!("{}/", ClientProvider::NAME), requested.contains('/'));
    if current.starts_with(&prefix) && !is_full_name { format!("{prefix}{requested}") } else { requested.to_owned() }
}

/// The context size reported to clients, which only display it.
const REPORTED_CONTEXT_TOKENS: u64 = 128_000;

/// A model in the SDK's format.
pub(crate) fn model_view(model: &str) -> Value {
    let supports = json!({ "vision": true, "reasoningEffort": true });
    let limits = json!({ "max_context_window_tokens": REPORTED_CONTEXT_TOKENS });
    json!({ "id": model, "name": model, "capabilities": { "supports": supports, "limits": limits } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_are_models_of_the_client_provider() {
        assert_eq!(resolve_model("client/a", "b"), "client/b");
        assert_eq!(resolve_model("client/a", "openai/b"), "openai/b");
        assert_eq!(resolve_model("script/x.yaml", "b"), "b");
    }
}
