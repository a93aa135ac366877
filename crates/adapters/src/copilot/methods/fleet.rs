//! `session.fleet.start`.

use protocol::api::{FleetParams, FleetResult, Method};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::optional_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.fleet.start" => {
            let prompt = optional_text(&params, "prompt");
            session.resume_unfinished().await?;
            let FleetResult { started } = session.call(Method::SessionFleetStart, FleetParams::new(prompt)).await?;
            if params["wait"] == true {
                session.wait_until_quiet().await;
            }
            Ok(json!({ "started": started }))
        }
        other => Err(unhandled(other)),
    }
}
