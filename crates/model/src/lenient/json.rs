//! JSON that preserves the order of its fields and the digits of its numbers.

use std::fmt::{self, Write};

use serde_json::Value;

use super::parser::{JsonParser, ParseProgress};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    /// Each name occurs once.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses a text that is one whole object or list.
    pub(super) fn parse(text: &str) -> Option<Json> {
        let mut parser = JsonParser::default();
        let mut rest = text.trim().chars();
        for c in rest.by_ref() {
            match parser.push(c) {
                ParseProgress::More => {}
                ParseProgress::Complete(json) => return rest.as_str().is_empty().then_some(json),
                ParseProgress::Invalid => return None,
            }
        }
        None
    }

    /// The string, if it is one.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Object(_) => None,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(digits) => f.write_str(digits),
            Json::Text(text) => write_text(f, text),
            Json::List(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", comma(index))?;
                }
                f.write_char(']')
            }
            Json::Object(fields) => {
                f.write_char('{')?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    f.write_str(comma(index))?;
                    write_text(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn comma(index: usize) -> &'static str {
    if index == 0 { "" } else { "," }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    write!(f, "{}", Value::from(text))
}
