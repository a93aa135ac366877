//! `session.provider.*`: the model providers of the session.

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::model::listed_model_view;
use super::provider::{ClientProviders, named_models, named_providers};
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

/// Maximum providers that clients may add to a running session.
const MAX_ADDED: usize = 64;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.provider.getEndpoint" => session.providers().and_then(ClientProviders::endpoint).ok_or_else(|| {
            let why = "the session uses a provider of Bosun's settings, whose key is not given to clients";
            ErrorObject::internal(why)
        }),
        "session.provider.add" => add(session, &params),
        other => Err(unhandled(other)),
    }
}

/// Adds providers with their models, which the session can use until it is closed.
fn add(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    if !session.is_local() {
        return Err(ErrorObject::internal("another process runs the session, which does not accept new providers"));
    }
    let providers = named_providers(params).map_err(ErrorObject::bad_params)?;
    let joined = &session.tool_calls.joined_providers;
    if joined.all().len() + providers.len() > MAX_ADDED {
        return Err(ErrorObject::internal(format!("there are more than {MAX_ADDED} added providers")));
    }
    let models: Vec<_> = named_models(params).collect();
    for (name, provider) in providers {
        joined.add(name, provider);
    }
    session.features.add_models(models.iter().cloned());
    Ok(json!({ "models": models.iter().map(listed_model_view).collect::<Vec<_>>() }))
}
