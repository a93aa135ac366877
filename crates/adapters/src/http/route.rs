//! One row of the table: what may be asked, what that takes and gives, and how a path is matched.

use hyper::{Method as Verb, StatusCode};
use percent_encoding::percent_decode_str;
use protocol::api::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// One row of the table.
pub(super) struct Route {
    pub(super) verb: Verb,
    /// With names in braces for what varies.
    pub(super) path: &'static str,
    /// What programs call it.
    pub(super) name: &'static str,
    /// What it is for, in one line.
    pub(super) about: &'static str,
    pub(super) takes: RouteInput,
    pub(super) gives: RouteOutput,
    pub(super) act: RouteAction,
}

/// What a request says besides its path.
pub(super) enum RouteInput {
    Nothing,
    Query(InputSchema),
    Body(InputSchema),
}

/// What it is answered with.
pub(super) enum RouteOutput {
    /// A value, with this status.
    Json(StatusCode, fn(&mut SchemaGenerator) -> Schema),
    Nothing,
    /// Everything that happens, as server-sent events.
    Events,
}

/// What is done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteAction {
    /// A method of the session's API.
    Call(Method),
    ServerInfo,
    Describe,
    List,
    Create,
    Resume,
    Fork,
    Stop,
    Remove,
    Watch,
}

/// What words from outside must be.
pub(super) struct InputSchema {
    /// Reads them; says in words why they do not fit.
    pub(super) read: fn(&[u8]) -> Result<Value, String>,
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
}

impl RouteInput {
    pub(super) const fn body<T: DeserializeOwned + Serialize + JsonSchema>() -> RouteInput {
        RouteInput::Body(InputSchema { read: from_json::<T>, schema: schema::<T> })
    }

    pub(super) const fn query<T: DeserializeOwned + Serialize + JsonSchema>() -> RouteInput {
        RouteInput::Query(InputSchema { read: from_query::<T>, schema: schema::<T> })
    }
}

impl RouteOutput {
    pub(super) const fn json<T: JsonSchema>() -> RouteOutput {
        RouteOutput::Json(StatusCode::OK, schema::<T>)
    }

    pub(super) const fn new<T: JsonSchema>() -> RouteOutput {
        RouteOutput::Json(StatusCode::CREATED, schema::<T>)
    }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn from_json<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<Value, String> {
    // A body that says nothing says that everything is as usual. One that is a list would fill a type's fields in turn,
    // and mean what nobody wrote.
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    let fields: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| format!("the body is not a JSON object: {error}"))?;
    let read: T = T::deserialize(Value::Object(fields)).map_err(|error| format!("the body does not fit: {error}"))?;
    serde_json::to_value(read).map_err(|error| error.to_string())
}

/// The greatest number that every JSON reader, and the store, take as it is.
const GREATEST: u64 = (1 << 53) - 1;

fn from_query<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<Value, String> {
    let read: T = serde_urlencoded::from_bytes(bytes).map_err(|error| format!("the query does not fit: {error}"))?;
    let value = serde_json::to_value(read).map_err(|error| error.to_string())?;
    let is_great = |value: &Value| value.as_u64().is_some_and(|number| number > GREATEST);
    match value.as_object().and_then(|fields| fields.iter().find(|(_, value)| is_great(value))) {
        Some((name, _)) => Err(format!("the query does not fit: `{name}` is greater than {GREATEST}")),
        None => Ok(value),
    }
}

/// What stands in a path for the names in braces.
pub(super) type PathParams = Vec<(&'static str, String)>;

impl Route {
    /// What a path names, if it is one of this route's.
    pub(super) fn matches(&self, path: &str) -> Option<PathParams> {
        let (mut pattern, mut given) = (self.path.split('/'), path.split('/'));
        let mut named = Vec::new();
        loop {
            match (pattern.next(), given.next()) {
                (None, None) => return Some(named),
                (Some(part), Some(word)) => match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                    Some(_) if word.is_empty() => return None,
                    Some(name) => named.push((name, percent_decode_str(word).decode_utf8().ok()?.into_owned())),
                    None if part == word => {}
                    None => return None,
                },
                (Some(_), None) | (None, Some(_)) => return None,
            }
        }
    }

    /// The names in braces.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}
