//! Decides whether values that a model wrote are calls.
//!
//! Either all of them are calls, or none. Where a text can only be a call, a call of a tool that was not offered counts
//! too: the runtime tells the model that there is no such tool, and runs the other calls.

use serde_json::Value;

use super::function_tag::{FunctionTagCall, FunctionTagInput};
use super::json::Json;
use crate::ToolSpec;

const ARGUMENT_KEYS: [&str; 4] = ["arguments", "parameters", "input", "args"];
/// The keys that suffice as evidence of a call.
const EVIDENT_ARGUMENT_KEYS: [&str; 2] = ["arguments", "parameters"];
const NAME_KEYS: [&str; 3] = ["name", "tool", "function"];
/// Fields without a meaning for the call.
const IGNORED_KEYS: [&str; 5] = ["id", "index", "type", "call_id", "tool_call_id"];
const CALL_TYPES: [&str; 4] = ["function", "function_call", "tool_call", "tool_use"];

type JsonFields = Vec<(String, Json)>;

/// A parsed value that may be one or more calls.
#[derive(Debug)]
pub(super) enum ParsedItem {
    Json(Json),
    Function(FunctionTagCall),
}

/// How certain it is that a text is a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CallCertainty {
    /// It is marked as a call.
    Marked,
    /// It has the form of a call.
    WellFormed,
}

/// Whether a call of a tool that was not offered is a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum UnknownToolPolicy {
    /// It is: the syntax allows only calls here.
    Accepted,
    /// It is if it comes with a call of an offered tool.
    BesideKnown,
}

/// A call without its id.
#[derive(Debug, PartialEq)]
pub(super) struct ParsedCall {
    pub(super) tool: String,
    pub(super) input: String,
}

/// Reads the items as calls; none if any of them is not certainly a call.
pub(super) fn read_calls(
    items: Vec<ParsedItem>,
    certainty: CallCertainty,
    unknown: UnknownToolPolicy,
    tools: &[ToolSpec],
) -> Option<Vec<ParsedCall>> {
    let mut calls = Vec::new();
    for item in items {
        match item {
            ParsedItem::Json(json) => read_json(json, certainty, tools, &mut calls)?,
            ParsedItem::Function(function) => calls.push(read_function(function, tools)?),
        }
    }
    let certain = unknown == UnknownToolPolicy::Accepted && !tools.is_empty();
    (certain && !calls.is_empty() || calls.iter().any(|call| find_tool(tools, &call.tool).is_some())).then_some(calls)
}

fn read_json(json: Json, certainty: CallCertainty, tools: &[ToolSpec], calls: &mut Vec<ParsedCall>) -> Option<()> {
    let objects = match json {
        Json::Object(mut fields) if matches!(&fields[..], [(name, Json::List(_))] if name == "tool_calls") => {
            match fields.pop()?.1 {
                Json::List(items) => items,
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Object(_) => return None,
            }
        }
        Json::List(items) => items,
        Json::Object(fields) => vec![Json::Object(fields)],
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => return None,
    };
    for object in objects {
        let Json::Object(fields) = object else { return None };
        calls.push(read_object(unwrap_function(fields)?, certainty, tools)?);
    }
    Some(())
}

/// Takes the inner object out of `{"type": "function", "function": {…}}`.
fn unwrap_function(mut fields: JsonFields) -> Option<JsonFields> {
    let Some(at) = fields.iter().position(|(name, value)| name == "function" && matches!(value, Json::Object(_)))
    else {
        return Some(fields);
    };
    let (_, inner) = fields.swap_remove(at);
    match inner {
        Json::Object(inner) if fields.iter().all(is_ignored) => Some(inner),
        _more_than_notes => None,
    }
}

fn read_object(fields: JsonFields, certainty: CallCertainty, tools: &[ToolSpec]) -> Option<ParsedCall> {
    let (named, rest): (JsonFields, JsonFields) =
        fields.into_iter().partition(|(name, _)| NAME_KEYS.contains(&name.as_str()));
    let [(key, name)] = &named[..] else { return None };
    let name = name.as_text()?;
    let tool = find_tool(tools, name);
    if tool.is_none() && !is_tool_name(name) {
        return None;
    }
    let (mut argument_fields, rest): (JsonFields, JsonFields) =
        rest.into_iter().partition(|(name, _)| ARGUMENT_KEYS.contains(&name.as_str()));
    let only_ignored_left = rest.iter().all(is_ignored);
    let input = match (argument_fields.pop(), argument_fields.is_empty()) {
        // `input` and `args` are also fields of many objects that are not calls.
        (Some((key, _)), _)
            if tool.is_none()
                && certainty == CallCertainty::WellFormed
                && !EVIDENT_ARGUMENT_KEYS.contains(&key.as_str()) =>
        {
            return None;
        }
        (Some((_, arguments)), true) if only_ignored_left => arguments_object(arguments)?,
        (None, _) if only_ignored_left && certainty == CallCertainty::Marked => Json::Object(Vec::new()),
        // `{"tool": "view", "path": "a.txt"}`: the arguments are beside the name.
        (None, _) if key == "tool" && !rest.is_empty() && tool.is_some_and(|tool| are_parameters(&rest, tool)) => {
            Json::Object(rest)
        }
        _uncertain => return None,
    };
    Some(ParsedCall { tool: name.to_owned(), input: input.to_string() })
}

/// Whether it is a valid tool name.
fn is_tool_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}

fn is_ignored((name, value): &(String, Json)) -> bool {
    match name.as_str() {
        "type" => value.as_text().is_some_and(|text| CALL_TYPES.contains(&text)),
        name => IGNORED_KEYS.contains(&name),
    }
}

fn find_tool<'a>(tools: &'a [ToolSpec], name: &str) -> Option<&'a ToolSpec> {
    tools.iter().find(|tool| tool.name == name)
}

fn are_parameters(fields: &JsonFields, tool: &ToolSpec) -> bool {
    fields.iter().all(|(name, _)| tool.schema["properties"].get(name).is_some())
}

/// The arguments as an object, also when they are encoded as a string.
fn arguments_object(arguments: Json) -> Option<Json> {
    match arguments {
        Json::Null => Some(Json::Object(Vec::new())),
        Json::Text(text) if text.trim().is_empty() => Some(Json::Object(Vec::new())),
        Json::Text(text) => {
            Json::parse(&text).filter(|json| matches!(json, Json::Object(fields) if !is_schema(fields)))
        }
        Json::Object(fields) if !is_schema(&fields) => Some(Json::Object(fields)),
        Json::Object(_) | Json::Bool(_) | Json::Number(_) | Json::List(_) => None,
    }
}

/// Whether it is the schema of the arguments, which some models repeat instead of arguments.
fn is_schema(fields: &JsonFields) -> bool {
    let kind = fields.iter().find(|(name, _)| name == "type").and_then(|(_, value)| value.as_text());
    kind == Some("object") && fields.iter().any(|(name, _)| name == "properties")
}

fn read_function(function: FunctionTagCall, tools: &[ToolSpec]) -> Option<ParsedCall> {
    let tool = find_tool(tools, &function.name);
    if tool.is_none() && !is_tool_name(&function.name) {
        return None;
    }
    let input = match function.input {
        FunctionTagInput::Json(json) => arguments_object(json)?,
        FunctionTagInput::Parameters(parameters) => {
            let typed = |(name, text): (String, String)| Some((name.clone(), typed_value(tool, &name, text)?));
            Json::Object(parameters.into_iter().map(typed).collect::<Option<JsonFields>>()?)
        }
    };
    Some(ParsedCall { tool: function.name, input: input.to_string() })
}

/// A parameter's text as the type that the tool expects.
fn typed_value(tool: Option<&ToolSpec>, name: &str, text: String) -> Option<Json> {
    let is_text = |kind: &Value| kind == "string";
    let Some(tool) = tool else { return Some(Json::Text(text)) };
    match &tool.schema["properties"][name]["type"] {
        Value::String(kind) if kind != "string" => parse_value(&text),
        Value::Array(kinds) if !kinds.iter().any(is_text) => parse_value(&text),
        _text_or_unknown => Some(Json::Text(text)),
    }
}

fn parse_value(text: &str) -> Option<Json> {
    match Json::parse(&format!("[{text}]"))? {
        Json::List(mut items) if items.len() == 1 => items.pop(),
        _other => None,
    }
}
