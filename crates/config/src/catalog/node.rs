//! Values of a document, each with the place it stands at. YAML knows the places; JSON has the same values without.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Location, Spanned};

use super::Spot;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Option<Spot>,
    pub(crate) value: Value,
}

/// What a document can say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Nothing,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(Node, Node)>),
}

impl Value {
    /// What kind of value it is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Nothing => "nothing",
            Value::Flag(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

impl Node {
    /// The same value as JSON, for whoever reads that. Keys that are no text are written as one.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Nothing => serde_json::Value::Null,
            Value::Flag(flag) => (*flag).into(),
            Value::Number(number) => number.clone().into(),
            Value::Text(text) => text.clone().into(),
            Value::List(list) => list.iter().map(Node::to_json).collect(),
            Value::Table(table) => table.iter().map(|(key, value)| (key.to_key(), value.to_json())).collect(),
        }
    }

    /// The value as a key of a table.
    pub(crate) fn to_key(&self) -> String {
        match &self.value {
            Value::Text(text) => text.clone(),
            Value::Nothing | Value::Flag(_) | Value::Number(_) | Value::List(_) | Value::Table(_) => {
                self.to_json().to_string()
            }
        }
    }

    /// The same with every place this many lines further down.
    pub(crate) fn below(self, lines: u64) -> Node {
        let value = match self.value {
            Value::List(list) => Value::List(list.into_iter().map(|node| node.below(lines)).collect()),
            Value::Table(table) => {
                Value::Table(table.into_iter().map(|(key, value)| (key.below(lines), value.below(lines))).collect())
            }
            plain @ (Value::Nothing | Value::Flag(_) | Value::Number(_) | Value::Text(_)) => plain,
        };
        let at = self.at.map(|spot| Spot { line: spot.line + lines, ..spot });
        Node { at, value }
    }
}

/// A value of YAML.
pub(crate) struct Marked(pub(crate) Node);

/// A value of JSON.
pub(crate) struct Bare(pub(crate) Node);

impl<'de> Deserialize<'de> for Marked {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Spanned { value: Inner(value, _), referenced, .. } = Spanned::<Inner<Marked>>::deserialize(from)?;
        Ok(Marked(Node { at: spot(referenced), value }))
    }
}

impl<'de> Deserialize<'de> for Bare {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Inner(value, _) = Inner::<Bare>::deserialize(from)?;
        Ok(Bare(Node { at: None, value }))
    }
}

impl From<Marked> for Node {
    fn from(Marked(node): Marked) -> Node {
        node
    }
}

impl From<Bare> for Node {
    fn from(Bare(node): Bare) -> Node {
        node
    }
}

fn spot(location: Location) -> Option<Spot> {
    let (line, column) = (location.line(), location.column());
    (line > 0).then_some(Spot { line, column })
}

/// A value whose parts are read as `N`.
struct Inner<N>(Value, PhantomData<N>);

impl<'de, N: Deserialize<'de> + Into<Node>> Deserialize<'de> for Inner<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader(PhantomData::<N>)).map(|value| Inner(value, PhantomData))
    }
}

struct Reader<N>(PhantomData<N>);

impl<'de, N: Deserialize<'de> + Into<Node>> Visitor<'de> for Reader<N> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        // What is no number of JSON is at least a text.
        Ok(Number::from_f64(number).map_or_else(|| Value::Text(number.to_string()), Value::Number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = from.next_element::<N>()? {
            list.push(node.into());
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut table = Vec::new();
        while let Some((key, value)) = from.next_entry::<N, N>()? {
            table.push((key.into(), value.into()));
        }
        Ok(Value::Table(table))
    }
}
