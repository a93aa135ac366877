//! Size limits of items, which keep lists readable.

use serde_json::{Map, Value};

use super::ListError;
use super::rows::ItemBody;

/// Most bytes of a line: a subject, an owner.
const LINE: usize = 500;

/// Most bytes of a description.
const TEXT: usize = 32 * 1024;

/// Most bytes of metadata, and how deep it may be nested.
const METADATA: usize = 16 * 1024;
const DEPTH: usize = 16;

/// Most items that one item waits for.
const BLOCKERS: usize = 200;

/// Most items of a list that are neither deleted nor archived.
pub(super) const ITEMS: u32 = 10_000;

/// Refuses an item that is too large, or has several lines where one is expected.
pub(super) fn check(body: &ItemBody) -> Result<(), ListError> {
    if body.subject.trim().is_empty() {
        return Err(ListError::Invalid("`subject` is empty; say in one line what is to be done".into()));
    }
    line("subject", &body.subject)?;
    line("author", &body.author)?;
    body.active_form.iter().try_for_each(|text| line("activeForm", text))?;
    body.owner.iter().try_for_each(|text| line("owner", text))?;
    at_most("description", body.description.len(), TEXT)?;
    metadata(&body.metadata)?;
    if body.blocked_by.len() > BLOCKERS {
        return Err(ListError::Invalid(format!("an item may wait for at most {BLOCKERS} others")));
    }
    Ok(())
}

fn line(field: &str, text: &str) -> Result<(), ListError> {
    if text.contains(|c: char| c.is_control()) {
        return Err(ListError::Invalid(format!("`{field}` must be one line without control characters")));
    }
    at_most(field, text.len(), LINE)
}

fn at_most(field: &str, found: usize, most: usize) -> Result<(), ListError> {
    match found <= most {
        true => Ok(()),
        false => Err(ListError::Invalid(format!(
            "`{field}` has {found} bytes, and at most {most} are allowed; put it in a file"
        ))),
    }
}

fn metadata(fields: &Map<String, Value>) -> Result<(), ListError> {
    let text = serde_json::to_string(fields).unwrap_or_default();
    at_most("metadata", text.len(), METADATA)?;
    if fields.values().any(|value| is_deeper(value, DEPTH)) {
        return Err(ListError::Invalid(format!("`metadata` is nested more than {DEPTH} deep; make it flatter")));
    }
    Ok(())
}

/// Whether a value is nested deeper than `most`; it looks no deeper than that.
fn is_deeper(value: &Value, most: usize) -> bool {
    match (value, most) {
        (Value::Array(_) | Value::Object(_), 0) => true,
        (Value::Array(all), _) => all.iter().any(|value| is_deeper(value, most - 1)),
        (Value::Object(all), _) => all.values().any(|value| is_deeper(value, most - 1)),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => false,
    }
}
