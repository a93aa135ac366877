//! Positions of the values in a JSON text.

use std::collections::{BTreeSet, HashMap};

use crate::TextPosition;

/// The position of each value in a JSON text, by its path such as `/hooks/preToolUse/0`.
#[derive(Debug, Default)]
pub(super) struct JsonPositions {
    at: HashMap<String, TextPosition>,
    /// Paths of names that an object has twice, with everything inside; the last one is used.
    repeated: BTreeSet<String>,
}

impl JsonPositions {
    /// Scans a text that is valid JSON, and so is nested no deeper than the JSON parser allows.
    pub(super) fn of(text: &str) -> JsonPositions {
        let mut scan = PositionScanner { text, offset: 0, line: 1, line_start: 0, positions: JsonPositions::default() };
        scan.value(String::new());
        scan.positions
    }

    /// The names that an object has twice.
    pub(super) fn repeated(&self) -> Vec<String> {
        let is_inner = |path: &str| path.rsplit_once('/').is_some_and(|(outer, _)| self.repeated.contains(outer));
        self.repeated.iter().filter(|path| !is_inner(path)).cloned().collect()
    }

    /// The position of the value at a path, or else of the nearest one around it.
    pub(super) fn position_of(&self, path: &str) -> Option<TextPosition> {
        let mut path = path;
        loop {
            if let Some(at) = self.at.get(path) {
                return Some(*at);
            }
            (path, _) = path.rsplit_once('/')?;
        }
    }
}

struct PositionScanner<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
    line_start: usize,
    positions: JsonPositions,
}

impl PositionScanner<'_> {
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.offset).filter(|byte| byte.is_ascii_whitespace()) {
            if *byte == b'\n' {
                (self.line, self.line_start) = (self.line + 1, self.offset + 1);
            }
            self.offset += 1;
        }
        bytes.get(self.offset).copied()
    }

    fn value(&mut self, path: String) {
        let first = self.peek();
        let column = self.text.get(self.line_start..self.offset).map_or(1, |before| before.chars().count() + 1);
        let at = TextPosition { line: self.line, column };
        if self.positions.at.insert(path.clone(), at).is_some() {
            self.positions.repeated.insert(path.clone());
        }
        match first {
            Some(b'{') => self.object(&path),
            Some(b'[') => self.array(&path),
            Some(b'"') => drop(self.string()),
            Some(_) => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
                while self.text.as_bytes().get(self.offset).is_some_and(|byte| !ends(byte)) {
                    self.offset += 1;
                }
            }
            None => {}
        }
    }

    fn object(&mut self, path: &str) {
        self.offset += 1;
        while self.peek() == Some(b'"') {
            let name = self.string();
            if self.peek() == Some(b':') {
                self.offset += 1;
            }
            self.value(format!("{path}/{name}"));
            self.after_value();
        }
        self.offset += 1;
    }

    fn array(&mut self, path: &str) {
        self.offset += 1;
        let mut index = 0;
        while self.peek().is_some_and(|byte| byte != b']') {
            self.value(format!("{path}/{index}"));
            self.after_value();
            index += 1;
        }
        self.offset += 1;
    }

    fn after_value(&mut self) {
        if self.peek() == Some(b',') {
            self.offset += 1;
        }
    }

    /// Reads and decodes a string; the text is JSON, so every unescaped quote ends one.
    fn string(&mut self) -> String {
        let start = self.offset;
        self.offset += 1;
        while let Some(byte) = self.text.as_bytes().get(self.offset) {
            self.offset += match byte {
                b'\\' => 2,
                b'"' => {
                    self.offset += 1;
                    break;
                }
                _other => 1,
            };
        }
        let literal = self.text.get(start..self.offset).unwrap_or_default();
        serde_json::from_str(literal).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn positions_of_values_are_exact() {
        let text = "{\n  \"é\": [1,\n    {\"a\\\"b\": true}],\n  \"é\": null }";
        let positions = JsonPositions::of(text);
        let at = |path: &str| positions.position_of(path).map(|TextPosition { line, column }| (line, column));
        assert_eq!(at("/é/0"), Some((2, 9)));
        assert_eq!(at("/é/1/a\"b"), Some((3, 14)));
        assert_eq!(at("/é/1/other"), Some((3, 5)));
        assert_eq!(positions.repeated(), ["/é"]);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\{}\\[\\],: é\n]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[a-z\"{,]{1,4}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn count(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Object(fields) => fields.values().map(count).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }

    proptest! {
        /// Every value of any JSON is found, once.
        #[test]
        fn every_value_is_found(value in json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let found = JsonPositions::of(&text.unwrap());
            prop_assert!(found.repeated.is_empty());
            prop_assert_eq!(found.at.len(), count(&value));
        }
    }
}
