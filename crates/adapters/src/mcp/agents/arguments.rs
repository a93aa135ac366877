//! The arguments and results of tools, as JSON, and their schemas.

use std::time::Duration;

use client::ClientError;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use server::OpenRefusal;

use crate::mcp::{McpFault, McpReply, ToolSuccess, tool_result};

/// The longest wait of a call.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// Maximum bytes of a prompt or a message.
const MAX_PROMPT_BYTES: usize = 1 << 20;

/// Maximum bytes of a text in a result.
pub(super) const MAX_TEXT_BYTES: usize = 32 * 1024;

/// Maximum bytes of the message of a refusal.
const MAX_MESSAGE_BYTES: usize = 2000;

/// Why a tool did not do what it was called for.
#[derive(Debug)]
pub(super) enum AgentToolError {
    /// The model can do something else.
    Refused(String),
    /// The request is not one of the protocol.
    Fault(McpFault),
}

impl AgentToolError {
    pub(super) fn refused(why: impl Into<String>) -> AgentToolError {
        AgentToolError::Refused(why.into())
    }

    /// The reply to a call.
    pub(super) fn into_reply(self) -> Result<McpReply, McpFault> {
        match self {
            AgentToolError::Refused(why) => Ok(McpReply::tool_error(protocol::clip_middle(&why, MAX_MESSAGE_BYTES))),
            AgentToolError::Fault(fault) => Err(fault),
        }
    }
}

impl From<McpFault> for AgentToolError {
    fn from(fault: McpFault) -> AgentToolError {
        AgentToolError::Fault(fault)
    }
}

impl From<ClientError> for AgentToolError {
    fn from(error: ClientError) -> AgentToolError {
        AgentToolError::Refused(error.to_string())
    }
}

impl From<OpenRefusal> for AgentToolError {
    fn from(refusal: OpenRefusal) -> AgentToolError {
        AgentToolError::Refused(refusal.to_string())
    }
}

/// Reads the arguments of a call.
pub(super) fn read<A: DeserializeOwned>(arguments: Map<String, Value>) -> Result<A, AgentToolError> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| AgentToolError::refused(format!("invalid arguments: {error}")))
}

/// How long a call waits.
pub(super) fn wait_limit(seconds: Option<u64>) -> Duration {
    Duration::from_secs(seconds.unwrap_or(0)).min(MAX_WAIT)
}

/// A prompt or message of a size that a session takes.
pub(super) fn checked_text(text: &str) -> Result<String, AgentToolError> {
    if text.trim().is_empty() {
        return Err(AgentToolError::refused("the text is empty"));
    }
    if text.len() > MAX_PROMPT_BYTES {
        return Err(AgentToolError::refused(format!("the text is larger than {MAX_PROMPT_BYTES} bytes")));
    }
    Ok(text.to_owned())
}

/// A model that a client may choose: those in files are the user's alone.
pub(super) fn checked_model(model: &str) -> Result<String, AgentToolError> {
    match model.split('/').next() {
        Some("script" | "replay") => {
            Err(AgentToolError::refused("clients cannot choose models in files; the user can, with --model"))
        }
        Some(_) | None => Ok(model.to_owned()),
    }
}

/// A result with a text for models and the same facts for programs.
pub(super) fn structured(text: &str, output: &impl Serialize) -> Result<Map<String, Value>, AgentToolError> {
    let output = serde_json::to_value(output).map_err(McpFault::internal)?;
    let mut result = tool_result(protocol::clip_middle(text, MAX_TEXT_BYTES), ToolSuccess::Succeeded);
    result.insert("structuredContent".into(), output);
    Ok(result)
}

/// The JSON Schema of arguments.
pub(super) fn input_schema<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    schema::<A>(settings.with_transform(RecursiveTransform(model::without_null)))
}

/// The JSON Schema of a result.
pub(super) fn output_schema<O: JsonSchema>() -> Value {
    schema::<O>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        root.remove("title");
        root.remove("description");
        root.entry("properties").or_insert_with(|| Map::new().into());
    }
    schema
}
