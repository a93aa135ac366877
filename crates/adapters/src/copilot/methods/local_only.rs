//! What a session on this machine, without the vendor's services and without an editor, never has: completions of a
//! host, sharing, reports to the vendor, and language servers.

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    _session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.completions.getTriggerCharacters" => Ok(json!({ "triggerCharacters": [] })),
        "session.completions.request" => {
            required_text(&params, "text")?;
            Ok(json!({ "items": [] }))
        }
        "session.visibility.get" => Ok(json!({ "synced": false })),
        // The answer says that nothing is shared.
        "session.visibility.set" => {
            required_text(&params, "status")?;
            Ok(json!({ "synced": false }))
        }
        // Nothing is reported to the vendor, so there is no engagement, and no feature of its reports to set.
        "session.telemetry.getEngagementId" => Ok(json!({})),
        "session.telemetry.setFeatureOverrides" => match &params["features"] {
            Value::Object(_) => Ok(Value::Null),
            _other => Err(ErrorObject::bad_params("`features` is missing or not an object")),
        },
        // There is no language server to start.
        "session.lsp.initialize" => Ok(Value::Null),
        other => Err(unhandled(other)),
    }
}
