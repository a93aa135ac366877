//! Methods that are about the server, or about sessions that a client does not hold yet.

use std::sync::Arc;

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::visit::Visit;

/// The version of the family's protocol that is spoken.
const PROTOCOL: u32 = 3;

/// Whether a method is answered here.
pub(crate) fn serves(method: &str) -> bool {
    matches!(method, "connect" | "ping" | "runtime.shutdown")
}

pub(crate) async fn call(visit: &Arc<Visit>, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match method {
        "connect" => connect(visit, &params),
        "runtime.shutdown" => {
            visit.server().close();
            Ok(Value::Null)
        }
        other => Err(unhandled(other)),
    }
}

fn connect(visit: &Visit, params: &Value) -> Result<Value, ErrorObject> {
    visit.admit(params["token"].as_str())?;
    Ok(json!({ "ok": true, "protocolVersion": PROTOCOL, "version": env!("CARGO_PKG_VERSION") }))
}
