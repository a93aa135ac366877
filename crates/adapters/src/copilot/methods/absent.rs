//! Parts of a session that are always empty: Bosun runs no extensions and no schedules.

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;

pub(super) fn session_call(method: &str, params: &Value) -> Result<Value, ErrorObject> {
    Ok(match method {
        "session.extensions.list" => json!({ "extensions": [] }),
        "session.extensions.enable" | "session.extensions.disable" | "session.extensions.reload" => {
            return Err(ErrorObject::internal("Extensions not available: Bosun runs none"));
        }
        "session.extensions.sendAttachmentsToMessage" => {
            return Err(ErrorObject::internal("only an extension can push attachments, and this client is none"));
        }
        "session.schedule.list" => json!({ "entries": [] }),
        "session.schedule.stop" if params["id"].is_number() => json!({}),
        "session.schedule.stop" => return Err(ErrorObject::bad_params("`id` is missing or not a number")),
        other => return Err(unhandled(other)),
    })
}
