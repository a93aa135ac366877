//! `secrets.addFilterValues`: texts that sessions must not write.

use std::ops::RangeInclusive;

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::connection::CopilotConnection;

/// Maximum texts in one call.
const MAX_VALUES: usize = 1_000;

/// How long a text may be. A shorter one would match unrelated text.
const VALUE_BYTES: RangeInclusive<usize> = 8..=64 << 10;

pub(super) fn call(connection: &CopilotConnection, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    match method {
        "secrets.addFilterValues" => add(connection, params),
        other => Err(unhandled(other)),
    }
}

/// Adds texts that the sessions opened from now on replace in everything that they write.
fn add(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let values = params["values"].as_array().ok_or_else(|| ErrorObject::bad_params("`values` is not a list"))?;
    let texts: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
    let texts = texts.ok_or_else(|| ErrorObject::bad_params("`values` has something that is not a text"))?;
    if texts.len() > MAX_VALUES || texts.iter().any(|text| !VALUE_BYTES.contains(&text.len())) {
        let (least, most) = (VALUE_BYTES.start(), VALUE_BYTES.end());
        let why = format!("at most {MAX_VALUES} values, each of {least} to {most} bytes");
        return Err(ErrorObject::bad_params(why));
    }
    match connection.server().add_secrets(texts) {
        true => Ok(json!({ "ok": true })),
        false => {
            let why = "a session is open that would not replace the new values: add them before you open sessions";
            Err(ErrorObject::internal(why))
        }
    }
}
