//! Fields of a body, and the path of the first that is not valid.

use std::fmt;

use serde_json::Value;

/// What is wrong with a body, and where.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) struct BodyProblem {
    path: Vec<String>,
    why: String,
}

impl BodyProblem {
    pub(in crate::server) fn new(why: impl Into<String>) -> BodyProblem {
        BodyProblem { path: Vec::new(), why: why.into() }
    }

    /// Adds an outer name to the path.
    pub(super) fn within(mut self, name: impl ToString) -> BodyProblem {
        self.path.insert(0, name.to_string());
        self
    }
}

impl fmt::Display for BodyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path.join("."))?;
        }
        f.write_str(&self.why)
    }
}

/// A required string.
pub(super) fn text<'a>(from: &'a Value, key: &str) -> Result<&'a str, BodyProblem> {
    from.get(key).ok_or_else(|| missing(key))?.as_str().ok_or_else(|| BodyProblem::new("must be a string").within(key))
}

/// A required string that must not be empty.
pub(super) fn words<'a>(from: &'a Value, key: &str) -> Result<&'a str, BodyProblem> {
    let text = text(from, key)?;
    if text.trim().is_empty() {
        return Err(BodyProblem::new("text must not be empty").within(key));
    }
    Ok(text)
}

/// A required list, parsed item by item.
pub(super) fn each<'a, T>(
    from: &'a Value,
    key: &str,
    mut read: impl FnMut(&'a Value) -> Result<T, BodyProblem>,
) -> Result<Vec<T>, BodyProblem> {
    let list = from.get(key).ok_or_else(|| missing(key))?;
    let list = list.as_array().ok_or_else(|| BodyProblem::new("must be a list").within(key))?;
    let one = |(at, value)| read(value).map_err(|wrong: BodyProblem| wrong.within(at).within(key));
    list.iter().enumerate().map(one).collect()
}

/// An optional list.
pub(super) fn each_if_given<'a, T>(
    from: &'a Value,
    key: &str,
    read: impl FnMut(&'a Value) -> Result<T, BodyProblem>,
) -> Result<Vec<T>, BodyProblem> {
    if from.get(key).is_none_or(Value::is_null) { Ok(Vec::new()) } else { each(from, key, read) }
}

/// An optional number of at least 1.
pub(super) fn count(from: &Value, key: &str) -> Result<Option<u32>, BodyProblem> {
    let wrong = || BodyProblem::new("must be a whole number from 1").within(key);
    match from.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let number = value.as_u64().filter(|number| *number > 0).ok_or_else(wrong)?;
            Ok(Some(u32::try_from(number).unwrap_or(u32::MAX)))
        }
    }
}

/// An optional boolean; false when absent.
pub(super) fn is_on(from: &Value, key: &str) -> Result<bool, BodyProblem> {
    match from.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(value) => value.as_bool().ok_or_else(|| BodyProblem::new("must be true or false").within(key)),
    }
}

/// A required object.
pub(super) fn object<'a>(from: &'a Value, key: &str) -> Result<&'a Value, BodyProblem> {
    let value = from.get(key).ok_or_else(|| missing(key))?;
    if value.is_object() { Ok(value) } else { Err(BodyProblem::new("must be an object").within(key)) }
}

/// A tool's name that every provider accepts.
pub(super) fn tool_name<'a>(from: &'a Value, key: &str) -> Result<&'a str, BodyProblem> {
    let name = text(from, key)?;
    if name.is_empty() || name.len() > 64 || !is_plain(name) {
        return Err(BodyProblem::new(format!("`{name}` does not match ^[a-zA-Z0-9_-]{{1,64}}$")).within(key));
    }
    Ok(name)
}

/// Whether a text has only letters, digits, `_` and `-`.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The problem of an unknown value.
pub(super) fn unknown(what: &str, word: &str) -> BodyProblem {
    BodyProblem::new(format!("unknown {what} `{word}`"))
}

fn missing(key: &str) -> BodyProblem {
    BodyProblem::new("field required").within(key)
}
