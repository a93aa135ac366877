//! A provider that the client brings along.

use rpc::ErrorObject;
use serde_json::Value;

use crate::Order;

/// Has a session use the provider that `session.create` or `session.resume` names, if it names one.
pub(crate) fn apply(_order: &mut Order, _params: &Value) -> Result<(), ErrorObject> {
    Ok(())
}
