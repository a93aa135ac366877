//! JSON-RPC messages. Parsing distinguishes invalid JSON from invalid messages, and keeps the id if there is one, so
//! that the sender learns which of its messages was wrong.

use serde_json::{Map, Number, Value};

use crate::{ErrorObject, read_json};

/// The content of one frame.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcMessage {
    /// A call that expects an answer.
    Request(RpcRequest),
    /// A call that expects no answer.
    Notification(RpcNotification),
    /// An answer to a call.
    Response(RpcResponse),
}

/// A request's id, as its sender chose it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
}

/// A call that expects an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcRequest {
    /// The id that its answer carries.
    pub id: RequestId,
    /// The method's name.
    pub method: String,
    /// An object or an array; `Null` when absent.
    pub params: Value,
}

/// A call that expects no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcNotification {
    /// The method's name.
    pub method: String,
    /// An object or an array; `Null` when absent.
    pub params: Value,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcResponse {
    /// The request's id; none if the request could not be read or if the error ends the connection.
    pub id: Option<RequestId>,
    /// The result, or why there is none.
    pub outcome: Result<Value, ErrorObject>,
}

/// A frame without a valid message.
#[derive(Debug, Clone, PartialEq)]
pub struct MalformedMessage {
    /// The id it carried, if that much could be read.
    pub id: Option<RequestId>,
    /// What is wrong with it.
    pub error: ErrorObject,
}

impl RpcMessage {
    /// Reads a frame's content.
    pub fn parse(bytes: &[u8]) -> Result<RpcMessage, MalformedMessage> {
        match read_json(bytes) {
            Ok(Value::Object(fields)) => from_fields(fields),
            Ok(Value::Array(_)) => Err(invalid(None, "batches are not supported: send one message per frame")),
            Ok(_) => Err(invalid(None, "a message must be an object")),
            Err(error) => Err(MalformedMessage { id: None, error: ErrorObject::parse(error) }),
        }
    }

    /// The message as JSON on a single line.
    pub fn into_json(self) -> Vec<u8> {
        let mut fields = Map::from_iter([("jsonrpc".to_owned(), Value::from("2.0"))]);
        match self {
            RpcMessage::Request(RpcRequest { id, method, params }) => {
                fields.insert("id".into(), id.into());
                insert_call(&mut fields, method, params);
            }
            RpcMessage::Notification(RpcNotification { method, params }) => insert_call(&mut fields, method, params),
            RpcMessage::Response(RpcResponse { id, outcome }) => {
                fields.insert("id".into(), id.map_or(Value::Null, Value::from));
                match outcome {
                    Ok(result) => fields.insert("result".into(), result),
                    Err(error) => fields.insert("error".into(), error.into()),
                };
            }
        }
        Value::Object(fields).to_string().into_bytes()
    }
}

impl From<RequestId> for Value {
    fn from(id: RequestId) -> Value {
        match id {
            RequestId::Number(number) => Value::Number(number),
            RequestId::Text(text) => Value::String(text),
        }
    }
}

fn insert_call(fields: &mut Map<String, Value>, method: String, params: Value) {
    fields.insert("method".into(), method.into());
    if !params.is_null() {
        fields.insert("params".into(), params);
    }
}

fn from_fields(mut fields: Map<String, Value>) -> Result<RpcMessage, MalformedMessage> {
    let id = IdField::parse(fields.remove("id"))?;
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(id.into_id(), "`jsonrpc` is not \"2.0\""));
    }
    match fields.remove("method") {
        Some(Value::String(method)) => parse_call(id, method, fields.remove("params").unwrap_or_default()),
        Some(_) => Err(invalid(id.into_id(), "`method` is not a string")),
        None => parse_response(id, fields),
    }
}

fn parse_call(id: IdField, method: String, params: Value) -> Result<RpcMessage, MalformedMessage> {
    match (id, params) {
        (id, Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            Err(invalid(id.into_id(), "`params` is neither an object nor an array"))
        }
        (IdField::Null, _) => Err(invalid(None, "the `id` of a request must be a number or a string")),
        (IdField::Absent, params) => Ok(RpcMessage::Notification(RpcNotification { method, params })),
        (IdField::Present(id), params) => Ok(RpcMessage::Request(RpcRequest { id, method, params })),
    }
}

fn parse_response(id: IdField, mut fields: Map<String, Value>) -> Result<RpcMessage, MalformedMessage> {
    let outcome = match (fields.remove("result"), fields.remove("error")) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => match serde_json::from_value(error) {
            Ok(error) => Err(error),
            Err(_) => return Err(invalid(id.into_id(), "`error` has no `code` and `message`")),
        },
        (Some(_), Some(_)) => return Err(invalid(id.into_id(), "an answer has both `result` and `error`")),
        (None, None) => return Err(invalid(id.into_id(), "a message has no `method`, `result` or `error`")),
    };
    match id {
        IdField::Absent => Err(invalid(None, "an answer has no `id`")),
        IdField::Null => Ok(RpcMessage::Response(RpcResponse { id: None, outcome })),
        IdField::Present(id) => Ok(RpcMessage::Response(RpcResponse { id: Some(id), outcome })),
    }
}

/// An absent id and a null one differ: null is valid only in the answer to a message that could not be read.
enum IdField {
    Absent,
    Null,
    Present(RequestId),
}

impl IdField {
    fn parse(field: Option<Value>) -> Result<IdField, MalformedMessage> {
        match field {
            None => Ok(IdField::Absent),
            Some(Value::Null) => Ok(IdField::Null),
            Some(Value::Number(number)) => Ok(IdField::Present(RequestId::Number(number))),
            Some(Value::String(text)) => Ok(IdField::Present(RequestId::Text(text))),
            Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
                Err(invalid(None, "`id` is neither a number nor a string"))
            }
        }
    }

    fn into_id(self) -> Option<RequestId> {
        match self {
            IdField::Present(id) => Some(id),
            IdField::Absent | IdField::Null => None,
        }
    }
}

fn invalid(id: Option<RequestId>, why: &str) -> MalformedMessage {
    MalformedMessage { id, error: ErrorObject::invalid(why) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(text: &str) -> (Option<RequestId>, i64) {
        let malformed = RpcMessage::parse(text.as_bytes()).unwrap_err();
        (malformed.id, malformed.error.code)
    }

    #[test]
    fn messages_round_trip() {
        let params = json!({ "text": "two\nlines", "deep": [1, { "a": null }] });
        let messages = [
            RpcMessage::Request(RpcRequest {
                id: RequestId::Number(7.into()),
                method: "m".into(),
                params: params.clone(),
            }),
            RpcMessage::Request(RpcRequest {
                id: RequestId::Text("a".into()),
                method: "m".into(),
                params: Value::Null,
            }),
            RpcMessage::Notification(RpcNotification { method: "n".into(), params }),
            RpcMessage::Response(RpcResponse { id: Some(RequestId::Number(7.into())), outcome: Ok(Value::Null) }),
            RpcMessage::Response(RpcResponse { id: None, outcome: Err(ErrorObject::invalid("no")) }),
        ];
        for message in messages {
            let json = message.clone().into_json();
            assert!(!json.contains(&b'\n'));
            assert_eq!(RpcMessage::parse(&json), Ok(message));
        }
    }

    #[test]
    fn invalid_json_is_a_parse_error() {
        for text in ["", "{", "{\"jsonrpc\":\"2.0\"", "nonsense", "\u{0}\u{1}", &"[".repeat(100_000)] {
            assert_eq!(refusal(text), (None, ErrorObject::PARSE), "{text:.20}");
        }
        assert_eq!(RpcMessage::parse(&[0xff, 0xfe, 0x00]).unwrap_err().error.code, ErrorObject::PARSE);
    }

    #[test]
    fn invalid_messages_keep_their_id() {
        let id = Some(RequestId::Number(1.into()));
        let table = [
            ("[]", None),
            ("[{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1}]", None),
            ("3", None),
            ("{}", None),
            ("{\"method\":\"m\",\"id\":1}", id.clone()),
            ("{\"jsonrpc\":\"1.0\",\"method\":\"m\",\"id\":1}", id.clone()),
            ("{\"jsonrpc\":\"2.0\",\"method\":5,\"id\":1}", id.clone()),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":5,\"id\":1}", id.clone()),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":null}", None),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":{}}", None),
            ("{\"jsonrpc\":\"2.0\",\"id\":1}", id.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", id.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", id),
            ("{\"jsonrpc\":\"2.0\",\"result\":1}", None),
        ];
        for (text, id) in table {
            assert_eq!(refusal(text), (id, ErrorObject::INVALID), "{text}");
        }
    }
}
