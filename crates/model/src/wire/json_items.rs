//! Serialised conversations, kept as bytes: a request serialises only the new messages, and the bytes of the earlier
//! ones stay the same.

use serde::Serialize;
use serde::ser::Error;

/// The items of a JSON list, without its brackets.
#[derive(Debug, Default)]
pub(super) struct JsonItems {
    json: Vec<u8>,
    error: Option<String>,
}

impl JsonItems {
    /// Adds an item.
    pub(super) fn push(&mut self, item: &impl Serialize) {
        self.push_separator();
        if let Err(error) = serde_json::to_writer(&mut self.json, item) {
            self.error.get_or_insert(error.to_string());
        }
    }

    /// Adds the items of another list.
    pub(super) fn append(&mut self, more: &JsonItems) {
        if !more.json.is_empty() {
            self.push_separator();
            self.json.extend_from_slice(&more.json);
        }
        if self.error.is_none() {
            self.error.clone_from(&more.error);
        }
    }

    fn push_separator(&mut self) {
        if !self.json.is_empty() {
            self.json.push(b',');
        }
    }
}

/// An object with the fields of `head`, the list `key` with all `items`, and the fields of `tail`.
pub(super) fn object(
    head: &impl Serialize,
    key: &str,
    items: &[&JsonItems],
    tail: &impl Serialize,
) -> serde_json::Result<Vec<u8>> {
    if let Some(failed) = items.iter().find_map(|items| items.error.as_ref()) {
        return Err(serde_json::Error::custom(failed));
    }
    let (head, tail) = (serde_json::to_vec(head)?, serde_json::to_vec(tail)?);
    let length: usize = items.iter().map(|items| items.json.len() + 1).sum();
    let mut body = Vec::with_capacity(head.len() + key.len() + length + tail.len() + 8);
    body.extend_from_slice(head.strip_suffix(b"}").unwrap_or(&head));
    if head != b"{}" {
        body.push(b',');
    }
    serde_json::to_writer(&mut body, key)?;
    body.extend_from_slice(b":[");
    let mut list = items.iter().filter(|items| !items.json.is_empty());
    body.extend(list.next().map(|items| items.json.as_slice()).unwrap_or_default());
    for items in list {
        body.push(b',');
        body.extend_from_slice(&items.json);
    }
    body.push(b']');
    if tail != b"{}" {
        body.push(b',');
    }
    body.extend_from_slice(tail.strip_prefix(b"{").unwrap_or(&tail));
    Ok(body)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn items(list: &[u32]) -> JsonItems {
        let mut items = JsonItems::default();
        list.iter().for_each(|item| items.push(item));
        items
    }

    #[test]
    fn an_object_is_assembled_from_its_parts() {
        let (none, one, two) = (items(&[]), items(&[1]), items(&[2, 3]));
        let written =
            |head, all: &[&JsonItems], tail| String::from_utf8(object(&head, "l", all, &tail).unwrap()).unwrap();
        assert_eq!(written(json!({ "a": 1 }), &[&one, &two], json!({ "z": 2 })), r#"{"a":1,"l":[1,2,3],"z":2}"#);
        assert_eq!(written(json!({}), &[&none, &two], json!({})), r#"{"l":[2,3]}"#);
        assert_eq!(written(json!({ "a": 1 }), &[&one, &none], json!({})), r#"{"a":1,"l":[1]}"#);
        assert_eq!(written(json!({}), &[&none], json!({ "z": [] })), r#"{"l":[],"z":[]}"#);
        let mut both = items(&[]);
        both.append(&none);
        both.append(&two);
        both.append(&one);
        assert_eq!(written(json!({}), &[&both], json!({})), r#"{"l":[2,3,1]}"#);
    }

    #[test]
    fn items_that_cannot_be_serialised_fail_the_object() {
        let mut items = JsonItems::default();
        items.push(&std::collections::BTreeMap::from([((1, 2), 3)]));
        assert!(object(&json!({}), "l", &[&items], &json!({})).is_err());
    }
}
