//! `session.canvas.*`: the canvases of a session's clients.

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::hosted_session::HostedSession;

pub(super) async fn call(session: &HostedSession, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    let name = session.name_for_clients();
    match method {
        "session.canvas.list" => Ok(json!({ "canvases": session.features.canvases.list() })),
        "session.canvas.listOpen" => Ok(json!({ "openCanvases": session.features.canvases.list_open() })),
        "session.canvas.open" => {
            let view = session.features.canvases.open(name, params).await?;
            session.emit("session.canvas.opened", view.clone());
            Ok(view)
        }
        "session.canvas.action.invoke" => {
            Ok(json!({ "result": session.features.canvases.invoke(name, params).await? }))
        }
        "session.canvas.close" => {
            let view = session.features.canvases.close(name, params).await?;
            session.emit("session.canvas.closed", view);
            Ok(Value::Null)
        }
        other => Err(unhandled(other)),
    }
}
