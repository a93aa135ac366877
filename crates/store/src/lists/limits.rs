//! Size limits of items, which keep lists readable.

use serde_json::{Map, Value};

use super::ListError;
use super::rows::ItemBody;

/// Maximum bytes of a field of one line, such as the subject.
const MAX_LINE_BYTES: usize = 500;

/// Maximum bytes of a description.
const MAX_DESCRIPTION_BYTES: usize = 32 * 1024;

/// Maximum bytes of metadata.
const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Maximum nesting of metadata.
const DEPTH: usize = 16;

/// Maximum number of items that one item waits for.
const BLOCKERS: usize = 200;

/// Maximum number of items of a list that are neither deleted nor archived.
pub(super) const ITEMS: u32 = 10_000;

/// Refuses an item that is too large, or has several lines where one is expected.
pub(super) fn check(body: &ItemBody) -> Result<(), ListError> {
    if body.subject.trim().is_empty() {
        return Err(ListError::Invalid("`subject` is empty; say in one line what is to be done".into()));
    }
    check_line("subject", &body.subject)?;
    check_line("author", &body.author)?;
    body.active_form.iter().try_for_each(|text| check_line("activeForm", text))?;
    body.owner.iter().try_for_each(|text| check_line("owner", text))?;
    check_bytes("description", body.description.len(), MAX_DESCRIPTION_BYTES)?;
    check_metadata(&body.metadata)?;
    if body.blocked_by.len() > BLOCKERS {
        return Err(ListError::Invalid(format!("an item may wait for at most {BLOCKERS} others")));
    }
    Ok(())
}

fn check_line(field: &str, text: &str) -> Result<(), ListError> {
    if text.contains(|c: char| c.is_control()) {
        return Err(ListError::Invalid(format!("`{field}` must be one line without control characters")));
    }
    check_bytes(field, text.len(), MAX_LINE_BYTES)
}

fn check_bytes(field: &str, bytes: usize, max: usize) -> Result<(), ListError> {
    match bytes <= max {
        true => Ok(()),
        false => Err(ListError::Invalid(format!(
            "`{field}` has {bytes} bytes, and at most {max} are allowed; put it in a file"
        ))),
    }
}

fn check_metadata(fields: &Map<String, Value>) -> Result<(), ListError> {
    let text = serde_json::to_string(fields).unwrap_or_default();
    check_bytes("metadata", text.len(), MAX_METADATA_BYTES)?;
    if fields.values().any(|value| is_deeper(value, DEPTH)) {
        return Err(ListError::Invalid(format!("`metadata` is nested more than {DEPTH} deep; make it flatter")));
    }
    Ok(())
}

/// Whether a value is nested deeper than `max_depth`. It stops searching at that depth.
fn is_deeper(value: &Value, max_depth: usize) -> bool {
    match (value, max_depth) {
        (Value::Array(_) | Value::Object(_), 0) => true,
        (Value::Array(all), _) => all.iter().any(|value| is_deeper(value, max_depth - 1)),
        (Value::Object(all), _) => all.values().any(|value| is_deeper(value, max_depth - 1)),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => false,
    }
}
