//! `session.provider.*`: the model provider of the session.

use rpc::ErrorObject;
use serde_json::Value;

use super::provider::ClientProviders;
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
        "session.provider.getEndpoint" => session.providers().and_then(ClientProviders::endpoint).ok_or_else(|| {
            let why = "the session uses a provider of Bosun's settings, whose key is not given to clients";
            ErrorObject::internal(why)
        }),
        other => Err(unhandled(other)),
    }
}
