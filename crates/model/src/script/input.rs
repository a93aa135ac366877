//! A tool call's arguments: any YAML value, with templates in its strings.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess};
use serde_json::{Number, Value};

use super::scope::{AnswerTooLong, TemplateScope};
use super::template::Template;

/// A value that becomes JSON, with its fields in their original order.
#[derive(Debug, Clone)]
pub(super) enum InputTemplate {
    Fixed(Value),
    Text(Template),
    List(Vec<InputTemplate>),
    Map(Vec<(String, InputTemplate)>),
}

impl InputTemplate {
    /// The JSON text with every template filled in.
    pub(super) fn fill(&self, scope: &mut TemplateScope<'_>) -> Result<String, AnswerTooLong> {
        Ok(match self {
            InputTemplate::Fixed(value) => value.to_string(),
            InputTemplate::Text(template) => Value::String(template.fill(scope)?).to_string(),
            InputTemplate::List(items) => {
                let items = items.iter().map(|item| item.fill(scope)).collect::<Result<Vec<_>, _>>()?;
                format!("[{}]", items.join(","))
            }
            InputTemplate::Map(entries) => {
                let entry = |(key, value): &(String, InputTemplate)| {
                    Ok(format!("{}:{}", Value::String(key.clone()), value.fill(scope)?))
                };
                format!("{{{}}}", entries.iter().map(entry).collect::<Result<Vec<_>, _>>()?.join(","))
            }
        })
    }

    /// The highest group that a template in it refers to.
    pub(super) fn highest_group(&self) -> usize {
        match self {
            InputTemplate::Fixed(_) => 0,
            InputTemplate::Text(template) => template.highest_group(),
            InputTemplate::List(items) => items.iter().map(InputTemplate::highest_group).max().unwrap_or(0),
            InputTemplate::Map(entries) => entries.iter().map(|(_, value)| value.highest_group()).max().unwrap_or(0),
        }
    }
}

impl Default for InputTemplate {
    /// No arguments.
    fn default() -> InputTemplate {
        InputTemplate::Map(Vec::new())
    }
}

impl<'de> Deserialize<'de> for InputTemplate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<InputTemplate, D::Error> {
        struct InputVisitor;

        impl<'de> de::Visitor<'de> for InputVisitor {
            type Value = InputTemplate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }

            fn visit_bool<E>(self, value: bool) -> Result<InputTemplate, E> {
                Ok(InputTemplate::Fixed(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<InputTemplate, E> {
                Ok(InputTemplate::Fixed(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<InputTemplate, E> {
                Ok(InputTemplate::Fixed(value.into()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<InputTemplate, E> {
                let number = Number::from_f64(value);
                let number = number.ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))?;
                Ok(InputTemplate::Fixed(number.into()))
            }

            fn visit_unit<E>(self) -> Result<InputTemplate, E> {
                Ok(InputTemplate::Fixed(Value::Null))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<InputTemplate, E> {
                text.parse().map(InputTemplate::Text).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<InputTemplate, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = from.next_element()? {
                    items.push(item);
                }
                Ok(InputTemplate::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<InputTemplate, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = from.next_entry()? {
                    entries.push(entry);
                }
                Ok(InputTemplate::Map(entries))
            }
        }

        from.deserialize_any(InputVisitor)
    }
}

impl JsonSchema for InputTemplate {
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
