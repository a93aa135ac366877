//! Reads JSON from a client into a type, and refuses a list where the type has an object. The code that serde derives
//! assigns the items of a list to the fields of a struct in order, which no client means.

use std::fmt::Write;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a value was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It does not have the form of the type.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A list is where the type has an object.
    #[error("{}a list was found where an object is expected", format_path(.0))]
    List(Vec<String>),
}

/// Reads a value.
pub fn read_objects<T: DeserializeOwned + Serialize>(given: Value) -> Result<T, ReadError> {
    if !has_list(&given) {
        return Ok(serde_json::from_value(given)?);
    }
    let read: T = serde_json::from_value(given.clone())?;
    // A struct is written as an object, whatever it was read from.
    match path_of_list(&given, &serde_json::to_value(&read)?) {
        Some(path) => Err(ReadError::List(path.into_iter().rev().collect())),
        None => Ok(read),
    }
}

fn has_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(has_list),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The path of the first list that was read as an object, innermost part first.
fn path_of_list(given: &Value, read: &Value) -> Option<Vec<String>> {
    match (given, read) {
        (Value::Array(_), Value::Object(_)) => Some(Vec::new()),
        (Value::Array(given), Value::Array(read)) => {
            let items = given.iter().zip(read).zip(1..);
            items
                .into_iter()
                .find_map(|((given, read), n)| below(path_of_list(given, read)?, &format_args!("item {n}")))
        }
        (Value::Object(given), Value::Object(read)) => given
            .iter()
            .find_map(|(name, given)| below(path_of_list(given, read.get(name)?)?, &format_args!("`{name}`"))),
        (_, _) => None,
    }
}

fn below(mut path: Vec<String>, part: &dyn std::fmt::Display) -> Option<Vec<String>> {
    path.push(part.to_string());
    Some(path)
}

fn format_path(path: &[String]) -> String {
    path.iter().fold(String::new(), |mut text, part| {
        let _infallible = write!(text, "{part}: ");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Menu {
        name: String,
        steps: Vec<Step>,
        by_day: BTreeMap<String, Option<Step>>,
        oven: Option<Oven>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "type", rename_all = "camelCase")]
    enum Step {
        Stir(Stir),
        Rest { minutes: u32 },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Stir {
        bowl: Bowl,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Bowl {
        size: u32,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Oven {
        Gas,
        Electric { watts: u32 },
    }

    fn refusal(given: Value) -> String {
        read_objects::<Menu>(given).unwrap_err().to_string()
    }

    #[test]
    fn lists_are_refused_where_objects_belong_at_any_depth() {
        let reason = "a list was found where an object is expected";
        assert_eq!(refusal(json!(["bread", [], {}, null])), reason);
        assert_eq!(refusal(json!({ "steps": [["rest", 5]] })), format!("`steps`: item 1: {reason}"));
        let stir = json!({ "type": "stir", "bowl": [3] });
        assert_eq!(refusal(json!({ "steps": [stir] })), format!("`steps`: item 1: `bowl`: {reason}"));
        let by_day = json!({ "byDay": { "monday": ["rest", 5] } });
        assert_eq!(refusal(by_day), format!("`byDay`: `monday`: {reason}"));
        assert!(refusal(json!({ "oven": { "electric": [5] } })).contains("expected struct variant"));
    }

    #[test]
    fn everything_else_is_read_as_usual() {
        let given = json!({
            "name": "bread",
            "steps": [{ "type": "stir", "bowl": { "size": 3 } }, { "type": "rest", "minutes": 5 }],
            "byDay": { "monday": null, "friday": { "type": "rest", "minutes": 1 } },
            "oven": "gas",
            "unknown": [1, [2]],
        });
        let read: Menu = read_objects(given).unwrap();
        assert_eq!((read.steps.len(), read.by_day.len(), read.oven), (2, 2, Some(Oven::Gas)));
        assert!(refusal(json!({ "name": 5 })).contains("expected a string"));
    }
}
