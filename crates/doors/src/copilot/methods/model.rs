//! `session.model.*`: the model that the session's own agent asks.

use protocol::api::{Method, ModelParams};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::text;
use super::unhandled;
use crate::ClientProvider;
use crate::copilot::held::Held;
use crate::copilot::visit::Visit;

pub(crate) async fn call(_visit: &Visit, session: &Held, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match method {
        "session.model.getCurrent" => Ok(json!({ "modelId": current(session).await? })),
        "session.model.switchTo" => {
            let model = meant(&current(session).await?, text(&params, "modelId")?);
            let _done: Value = session.call(Method::ModelSet, ModelParams { model }).await?;
            let model = current(session).await?;
            Ok(json!({ "modelId": model, "status": "applied", "modelState": { "modelId": model } }))
        }
        "session.model.list" => {
            let model = current(session).await?;
            Ok(json!({ "list": [described(&model)] }))
        }
        other => Err(unhandled(other)),
    }
}

async fn current(session: &Held) -> Result<String, ErrorObject> {
    let ModelParams { model } = session.call(Method::ModelGet, json!({})).await?;
    Ok(model)
}

/// The model that a client means: at a provider of its own, models go by their own names.
fn meant(current: &str, wanted: &str) -> String {
    let (own, known) = (format!("{}/", ClientProvider::NAME), wanted.contains('/'));
    if current.starts_with(&own) && !known { format!("{own}{wanted}") } else { wanted.to_owned() }
}

/// How many tokens a model takes, as far as clients are told: they only show it.
const CONTEXT: u64 = 128_000;

/// A model as clients know it.
pub(crate) fn described(model: &str) -> Value {
    let supports = json!({ "vision": true, "reasoningEffort": true });
    let limits = json!({ "max_context_window_tokens": CONTEXT });
    json!({ "id": model, "name": model, "capabilities": { "supports": supports, "limits": limits } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d1_a_model_of_the_client_s_own_provider_goes_by_its_own_name() {
        assert_eq!(meant("client/a", "b"), "client/b");
        assert_eq!(meant("client/a", "openai/b"), "openai/b");
        assert_eq!(meant("script/x.yaml", "b"), "b");
    }
}
