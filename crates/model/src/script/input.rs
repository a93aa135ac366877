//! A tool call's arguments: any YAML value, with templates in its texts.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess};
use serde_json::{Number, Value};

use super::scope::{Scope, TooLong};
use super::template::Template;

/// A value that becomes JSON in the order in which it was written.
#[derive(Debug, Clone)]
pub(super) enum Input {
    Fixed(Value),
    Text(Template),
    List(Vec<Input>),
    Map(Vec<(String, Input)>),
}

impl Input {
    /// The JSON text with every template filled in.
    pub(super) fn fill(&self, scope: &mut Scope<'_>) -> Result<String, TooLong> {
        Ok(match self {
            Input::Fixed(value) => value.to_string(),
            Input::Text(template) => Value::String(template.fill(scope)?).to_string(),
            Input::List(items) => {
                let items = items.iter().map(|item| item.fill(scope)).collect::<Result<Vec<_>, _>>()?;
                format!("[{}]", items.join(","))
            }
            Input::Map(entries) => {
                let entry = |(key, value): &(String, Input)| {
                    Ok(format!("{}:{}", Value::String(key.clone()), value.fill(scope)?))
                };
                format!("{{{}}}", entries.iter().map(entry).collect::<Result<Vec<_>, _>>()?.join(","))
            }
        })
    }

    /// The highest group that a template in it refers to.
    pub(super) fn highest_group(&self) -> usize {
        match self {
            Input::Fixed(_) => 0,
            Input::Text(template) => template.highest_group(),
            Input::List(items) => items.iter().map(Input::highest_group).max().unwrap_or(0),
            Input::Map(entries) => entries.iter().map(|(_, value)| value.highest_group()).max().unwrap_or(0),
        }
    }
}

impl Default for Input {
    /// No arguments.
    fn default() -> Input {
        Input::Map(Vec::new())
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Input, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Input;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value that JSON knows")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Input, E> {
                Ok(Input::Fixed(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Input, E> {
                Ok(Input::Fixed(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Input, E> {
                Ok(Input::Fixed(value.into()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Input, E> {
                let number = Number::from_f64(value);
                let number = number.ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))?;
                Ok(Input::Fixed(number.into()))
            }

            fn visit_unit<E>(self) -> Result<Input, E> {
                Ok(Input::Fixed(Value::Null))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Input, E> {
                text.parse().map(Input::Text).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Input, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = from.next_element()? {
                    items.push(item);
                }
                Ok(Input::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Input, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = from.next_entry()? {
                    entries.push(entry);
                }
                Ok(Input::Map(entries))
            }
        }

        from.deserialize_any(Visitor)
    }
}

impl JsonSchema for Input {
    fn schema_name() -> Cow<'static, str> {
        "Input".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}
