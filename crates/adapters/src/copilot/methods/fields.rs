//! Helpers for reading parameters.

use rpc::ErrorObject;
use serde_json::Value;

/// A required string.
pub(crate) fn required_text<'a>(params: &'a Value, name: &str) -> Result<&'a str, ErrorObject> {
    params[name].as_str().ok_or_else(|| ErrorObject::bad_params(format!("`{name}` is missing or not a string")))
}

/// An optional string; empty counts as absent.
pub(crate) fn optional_text<'a>(params: &'a Value, name: &str) -> Option<&'a str> {
    params[name].as_str().filter(|text| !text.is_empty())
}
