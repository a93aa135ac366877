//! Values of a document, with their positions. YAML provides positions; JSON does not.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Location, Spanned};

use super::FilePosition;

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DocumentNode {
    pub(crate) at: Option<FilePosition>,
    pub(crate) value: NodeValue,
}

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeValue {
    Nothing,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<DocumentNode>),
    Table(Vec<(DocumentNode, DocumentNode)>),
}

impl NodeValue {
    /// The kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            NodeValue::Nothing => "nothing",
            NodeValue::Flag(_) => "true or false",
            NodeValue::Number(_) => "a number",
            NodeValue::Text(_) => "a string",
            NodeValue::List(_) => "a list",
            NodeValue::Table(_) => "a table",
        }
    }
}

impl DocumentNode {
    /// Converts the value to JSON. Keys that are not strings are written as strings.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            NodeValue::Nothing => serde_json::Value::Null,
            NodeValue::Flag(flag) => (*flag).into(),
            NodeValue::Number(number) => number.clone().into(),
            NodeValue::Text(text) => text.clone().into(),
            NodeValue::List(list) => list.iter().map(DocumentNode::to_json).collect(),
            NodeValue::Table(table) => table.iter().map(|(key, value)| (key.to_key(), value.to_json())).collect(),
        }
    }

    /// The value as a key of a table.
    pub(crate) fn to_key(&self) -> String {
        match &self.value {
            NodeValue::Text(text) => text.clone(),
            NodeValue::Nothing
            | NodeValue::Flag(_)
            | NodeValue::Number(_)
            | NodeValue::List(_)
            | NodeValue::Table(_) => self.to_json().to_string(),
        }
    }

    /// Moves every position down by this many lines.
    pub(crate) fn shifted(self, lines: u64) -> DocumentNode {
        let value = match self.value {
            NodeValue::List(list) => NodeValue::List(list.into_iter().map(|node| node.shifted(lines)).collect()),
            NodeValue::Table(table) => NodeValue::Table(
                table.into_iter().map(|(key, value)| (key.shifted(lines), value.shifted(lines))).collect(),
            ),
            plain @ (NodeValue::Nothing | NodeValue::Flag(_) | NodeValue::Number(_) | NodeValue::Text(_)) => plain,
        };
        let at = self.at.map(|position| FilePosition { line: position.line + lines, ..position });
        DocumentNode { at, value }
    }
}

/// A YAML value.
pub(crate) struct YamlNode(pub(crate) DocumentNode);

/// A JSON value.
pub(crate) struct JsonNode(pub(crate) DocumentNode);

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Spanned { value: NestedValue(value, _), referenced, .. } =
            Spanned::<NestedValue<YamlNode>>::deserialize(from)?;
        Ok(YamlNode(DocumentNode { at: position_of(referenced), value }))
    }
}

impl<'de> Deserialize<'de> for JsonNode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let NestedValue(value, _) = NestedValue::<JsonNode>::deserialize(from)?;
        Ok(JsonNode(DocumentNode { at: None, value }))
    }
}

impl From<YamlNode> for DocumentNode {
    fn from(YamlNode(node): YamlNode) -> DocumentNode {
        node
    }
}

impl From<JsonNode> for DocumentNode {
    fn from(JsonNode(node): JsonNode) -> DocumentNode {
        node
    }
}

fn position_of(location: Location) -> Option<FilePosition> {
    let (line, column) = (location.line(), location.column());
    (line > 0).then_some(FilePosition { line, column })
}

/// A value whose parts are read as `N`.
struct NestedValue<N>(NodeValue, PhantomData<N>);

impl<'de, N: Deserialize<'de> + Into<DocumentNode>> Deserialize<'de> for NestedValue<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NodeVisitor(PhantomData::<N>)).map(|value| NestedValue(value, PhantomData))
    }
}

struct NodeVisitor<N>(PhantomData<N>);

impl<'de, N: Deserialize<'de> + Into<DocumentNode>> Visitor<'de> for NodeVisitor<N> {
    type Value = NodeValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Nothing)
    }

    fn visit_none<E: de::Error>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<NodeValue, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<NodeValue, E> {
        Ok(NodeValue::Flag(flag))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<NodeValue, E> {
        Ok(NodeValue::Number(number.into()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<NodeValue, E> {
        Ok(NodeValue::Number(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<NodeValue, E> {
        // NaN and infinity are not JSON numbers, so keep them as text.
        Ok(Number::from_f64(number).map_or_else(|| NodeValue::Text(number.to_string()), NodeValue::Number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<NodeValue, E> {
        Ok(NodeValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<NodeValue, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = from.next_element::<N>()? {
            list.push(node.into());
        }
        Ok(NodeValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<NodeValue, A::Error> {
        let mut table = Vec::new();
        while let Some((key, value)) = from.next_entry::<N, N>()? {
            table.push((key.into(), value.into()));
        }
        Ok(NodeValue::Table(table))
    }
}
