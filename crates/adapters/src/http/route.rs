//! One row of the route table: its input, output and action, and how its path is matched.

use hyper::{Method as Verb, StatusCode};
use percent_encoding::percent_decode_str;
use protocol::api::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// One row of the route table.
pub(super) struct Route {
    pub(super) verb: Verb,
    /// The path, with the names of parameters in braces.
    pub(super) path: &'static str,
    /// The operation id.
    pub(super) name: &'static str,
    /// A one-line description.
    pub(super) about: &'static str,
    pub(super) takes: RouteInput,
    pub(super) gives: RouteOutput,
    pub(super) act: RouteAction,
}

/// The input of a request besides its path.
pub(super) enum RouteInput {
    Nothing,
    Query(ReadInput),
    Body(ReadInput),
}

/// Parses an input. The error text says why it is not valid.
pub(super) type ReadInput = fn(&[u8]) -> Result<Value, String>;

/// The response.
pub(super) enum RouteOutput {
    /// A value, with this status.
    Json(StatusCode),
    Nothing,
    /// A stream of server-sent events.
    Events,
}

/// What the request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteAction {
    /// A method of the session's API.
    Call(Method),
    ServerInfo,
    /// Returns the OpenAPI document.
    OpenApiDocument,
    Create,
    BeginFleet,
    Resume,
    Fork,
    Stop,
    Remove,
    Watch,
}

impl RouteAction {
    /// The method of the API that it performs, if it is one.
    pub(super) fn method(self) -> Option<Method> {
        match self {
            RouteAction::Call(method) => Some(method),
            RouteAction::ServerInfo | RouteAction::OpenApiDocument => None,
            RouteAction::Create => Some(Method::SessionsBegin),
            RouteAction::BeginFleet => Some(Method::FleetsBegin),
            RouteAction::Resume => Some(Method::SessionsResume),
            RouteAction::Fork => Some(Method::SessionsFork),
            RouteAction::Stop => Some(Method::SessionStop),
            RouteAction::Remove => Some(Method::SessionsRemove),
            RouteAction::Watch => Some(Method::EventsSubscribe),
        }
    }
}

impl RouteInput {
    pub(super) const fn body<T: DeserializeOwned + Serialize>() -> RouteInput {
        RouteInput::Body(from_json::<T>)
    }

    pub(super) const fn query<T: DeserializeOwned + Serialize>() -> RouteInput {
        RouteInput::Query(from_query::<T>)
    }
}

#[expect(clippy::extra_unused_type_parameters, reason = "the OpenAPI document describes the type")]
impl RouteOutput {
    pub(super) const fn json<T>() -> RouteOutput {
        RouteOutput::Json(StatusCode::OK)
    }

    pub(super) const fn created<T>() -> RouteOutput {
        RouteOutput::Json(StatusCode::CREATED)
    }

    /// The status of a response to a request that succeeds.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            RouteOutput::Json(status) => *status,
            RouteOutput::Nothing => StatusCode::NO_CONTENT,
            RouteOutput::Events => StatusCode::OK,
        }
    }
}

fn from_json<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<Value, String> {
    // An empty body means defaults.
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    let fields: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| format!("the body is not a JSON object: {error}"))?;
    let value: T = rpc::read_objects(Value::Object(fields)).map_err(|error| format!("invalid body: {error}"))?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// The greatest number that every JSON parser and the store represent exactly.
const MAX_NUMBER: u64 = (1 << 53) - 1;

fn from_query<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<Value, String> {
    let input: T = serde_urlencoded::from_bytes(bytes).map_err(|error| format!("invalid query: {error}"))?;
    let value = serde_json::to_value(input).map_err(|error| error.to_string())?;
    let is_too_great = |value: &Value| value.as_u64().is_some_and(|number| number > MAX_NUMBER);
    match value.as_object().and_then(|fields| fields.iter().find(|(_, value)| is_too_great(value))) {
        Some((name, _)) => Err(format!("invalid query: `{name}` is greater than {MAX_NUMBER}")),
        None => Ok(value),
    }
}

/// The values of the parameters in a path.
pub(super) type PathParams = Vec<(&'static str, String)>;

impl Route {
    /// Returns the path parameters if a path matches this route.
    pub(super) fn matches(&self, path: &str) -> Option<PathParams> {
        let (mut pattern, mut actual) = (self.path.split('/'), path.split('/'));
        let mut params = Vec::new();
        loop {
            match (pattern.next(), actual.next()) {
                (None, None) => return Some(params),
                (Some(part), Some(segment)) => match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                    Some(_) if segment.is_empty() => return None,
                    Some(name) => params.push((name, percent_decode_str(segment).decode_utf8().ok()?.into_owned())),
                    None if part == segment => {}
                    None => return None,
                },
                (Some(_), None) | (None, Some(_)) => return None,
            }
        }
    }

    /// The names of the path parameters.
    pub(super) fn param_names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}
