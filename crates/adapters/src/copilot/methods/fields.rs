//! What stands in the parameters of a call.

use rpc::ErrorObject;
use serde_json::Value;

/// A text that must be there.
pub(crate) fn required_text<'a>(params: &'a Value, name: &str) -> Result<&'a str, ErrorObject> {
    params[name].as_str().ok_or_else(|| ErrorObject::bad_params(format!("`{name}` is missing or no text")))
}

/// A text that may be there.
pub(crate) fn optional_text<'a>(params: &'a Value, name: &str) -> Option<&'a str> {
    params[name].as_str().filter(|text| !text.is_empty())
}
