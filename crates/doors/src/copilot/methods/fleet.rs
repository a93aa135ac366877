//! `session.fleet.start`.

use protocol::api::{FleetParams, FleetResult, Method};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::maybe;
use super::unhandled;
use crate::copilot::held::Held;
use crate::copilot::visit::Visit;

pub(crate) async fn call(_visit: &Visit, session: &Held, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match method {
        "session.fleet.start" => {
            let prompt = maybe(&params, "prompt").map(str::to_owned);
            session.take_up().await?;
            let FleetResult { started } = session.call(Method::SessionFleetStart, FleetParams { prompt }).await?;
            if params["wait"] == true {
                session.quiet().await;
            }
            Ok(json!({ "started": started }))
        }
        other => Err(unhandled(other)),
    }
}
