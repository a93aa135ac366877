//! `session.name.*`.

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::{HostedSession, NameOrigin, SessionName};

/// Maximum characters of a name.
const MAX_NAME_CHARS: usize = 100;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.name.get" => Ok(json!({ "name": session.session_name() })),
        "session.name.set" => {
            set(session, required_text(&params, "name")?, NameOrigin::Chosen)?;
            Ok(Value::Null)
        }
        "session.name.setAuto" => {
            let applied = set(session, required_text(&params, "summary")?, NameOrigin::Generated)?;
            Ok(json!({ "applied": applied }))
        }
        other => Err(unhandled(other)),
    }
}

/// Sets the session's name; returns whether it applies.
fn set(session: &HostedSession, text: &str, origin: NameOrigin) -> Result<bool, ErrorObject> {
    let text: String = text.trim().chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    if text.is_empty() {
        return Err(ErrorObject::internal("the name is empty"));
    }
    let applied = session.set_session_name(SessionName { text: text.clone(), origin });
    if applied {
        session.emit("session.title_changed", json!({ "title": text }));
    }
    Ok(applied)
}
