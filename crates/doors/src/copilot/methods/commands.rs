//! `session.commands.*`.

use rpc::ErrorObject;
use serde_json::Value;

use super::unhandled;
use crate::copilot::held::Held;
use crate::copilot::visit::Visit;

pub(crate) async fn call(_visit: &Visit, _session: &Held, method: &str, _params: Value) -> Result<Value, ErrorObject> {
    Err(unhandled(method))
}
